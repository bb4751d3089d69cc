import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it, type TestContext } from 'vitest'
import { checkModel, type ModelResult } from '../../scripts/model/check-model.ts'
import { requireTool } from '../../scripts/tools/find-tool.ts'

const folder = resolve(import.meta.dirname, '../../docs/model')
const module = join(folder, 'Oncehook.tla')
const model = readFileSync(module, 'utf8')
const readme = readFileSync(join(folder, 'README.md'), 'utf8')
const PROPERTY = 'EveryAcceptedEventEnds'
const LONGEST_MS = 300_000
// Fewer would mean that a configuration leaves nearly nothing to happen.
const FEWEST_STATES = 1_000

interface Configuration {
  readonly name: string
  readonly path: string
  readonly text: string
  /** The name of what it breaks, or null if everything holds. */
  readonly breaks: string | null
}

const configurations = globSync(['*.cfg', 'broken/*.cfg'], { cwd: folder })
  .toSorted()
  .map((name): Configuration => {
    const path = join(folder, name)
    const text = readFileSync(path, 'utf8')
    const [, holds, breaks = null] = /^\\\* (?:(Holds: .+)|Breaks: (\w+))$/m.exec(text) ?? []
    if (holds === undefined && breaks === null) throw new Error(`The first line of ${name} does not say what it shows`)
    return { name, path, text, breaks }
  })
const right = configurations.filter(({ breaks }) => breaks === null)
const broken = configurations.filter(({ breaks }) => breaks !== null)

function missingOf({ text }: Configuration): string[] {
  const [, list = ''] = /^ {2}Missing = \{(.*)\}$/m.exec(text) ?? []
  return Array.from(list.matchAll(/"([^"]+)"/g), ([, step = '']) => step)
}

/** The number of states that the README names for a configuration, or null if it names none. */
function documentedStates({ name }: Configuration): number | null {
  const row = readme.split('\n').find((line) => line.startsWith(`| \`${name}\` |`))
  const [, states] = / ([\d,]+) \|$/.exec(row ?? '') ?? []
  return states === undefined ? null : Number(states.replaceAll(',', ''))
}

describe('the configurations', () => {
  it('take out each protecting step of the model, one at a time', () => {
    const [, list = ''] = /^Steps == \{(.+?)\}$/ms.exec(model) ?? []
    const steps = Array.from(list.matchAll(/"([^"]+)"/g), ([, step = '']) => step)
    expect(steps.length).toBeGreaterThan(10)
    expect(broken.map(missingOf).toSorted()).toEqual(steps.map((step) => [step]).toSorted())
    expect(right.flatMap(missingOf)).toEqual([])
  })

  it('break each invariant that the right ones check', () => {
    const checked = right.flatMap(({ text }) => text.match(/^ {2}[A-Z]\w+$/gm) ?? []).map((line) => line.trim())
    expect(new Set(broken.map(({ breaks }) => breaks))).toEqual(new Set([...checked, PROPERTY]))
  })

  it('are all in the README, with what they show', () => {
    const rows = broken.map(({ name, breaks }) => `\`${name}\` | \`${breaks}\``)
    expect(rows.filter((row) => !readme.includes(row))).toEqual([])
    expect(right.filter((configuration) => documentedStates(configuration) === null)).toEqual([])
  })
})

describe('TLC', () => {
  const check = async ({ path: config }: Configuration, workers: number, context: TestContext): Promise<ModelResult> =>
    checkModel({ jar: await requireTool('tlc', context), modules: [module], config, workers })

  it.for(right)('finds no fault with $name', { timeout: LONGEST_MS }, async (configuration, context) => {
    const result = await check(configuration, 2, context)
    expect(result.violated, result.output.slice(-8_000)).toBe(null)
    expect(result.states).toBeGreaterThan(FEWEST_STATES)
    expect(result.states).toBe(documentedStates(configuration))
  })

  it.for(broken)('finds what $name breaks', { timeout: LONGEST_MS }, async (configuration, context) => {
    const result = await check(configuration, 1, context)
    const expected = configuration.breaks === PROPERTY ? 'temporal' : configuration.breaks
    expect(result.violated, result.output.slice(-8_000)).toBe(expected)
  })
})
