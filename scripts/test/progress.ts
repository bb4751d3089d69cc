import { relative } from 'node:path'
import { Writable } from 'node:stream'
import type { Reporter, TestCase, TestModule, TestSpecification } from 'vitest/node'
import { countSkipped, countTests, isWanted } from './tally.ts'

/** The state of a group: a project of vitest.config.ts. */
export interface GroupState {
  readonly name: string
  readonly files: number
  ended: number
  passed: number
  failed: number
  skipped: number
  /** From its first file to its last one. */
  startedAt?: number
  endedAt?: number
}

/** Where the progress is shown. */
export interface Screen {
  readonly root: string
  readonly write: (text: string) => void
  /** The width of a terminal, on which a line can be written again. Undefined if the output goes elsewhere. */
  readonly columns: number | undefined
  /** Also names what passes, and shows what tests print. A run of one file shows it too. */
  readonly verbose: boolean
  /** Other tests are not shown. */
  readonly pattern: RegExp | undefined
}

const SLOW_MS = 10_000
const REWRITE_MS = 1_000
const REPEAT_MS = 15_000
const LONGEST_PRINTED = 4_000
const BAR = 20

/** Shows how far the tests are: a live line on a terminal, otherwise a line at most every 15 s, and a line for each group that has ended. */
export class Progress implements Reporter {
  readonly #screen: Screen
  readonly #groups = new Map<string, GroupState>()
  readonly #slow: { readonly title: string; readonly ms: number }[] = []
  readonly #running = new Set<TestModule>()
  readonly #printed = new Map<string, string>()
  /** What the processes of tests print themselves. */
  readonly output = new Writable({
    write: (chunk, _, done) => {
      this.#print('', String(chunk))
      done()
    },
  })
  #showsPrinted = true
  #timer: NodeJS.Timeout | undefined
  #shownAt = performance.now()
  #isLive = false

  constructor(screen: Screen) {
    this.#screen = screen
  }

  /** The groups in the order in which they run. */
  get groups(): readonly GroupState[] {
    return [...this.#groups.values()]
  }

  /** The tests that took long, the longest first. */
  get slow(): readonly string[] {
    const sorted = this.#slow.toSorted((one, other) => other.ms - one.ms)
    return sorted.map(({ title, ms }) => `${Math.round(ms / 1_000)} s: ${title}`)
  }

  /** The end of what a test printed. Without an id, of what their processes printed themselves. */
  printedBy(id = ''): string {
    return this.#printed.get(id) ?? ''
  }

  /** Writes a line above the live one. */
  say(line: string): void {
    if (this.#isLive) this.#screen.write('\r\u001B[K')
    this.#isLive = false
    this.#screen.write(`${line}\n`)
    this.#shownAt = performance.now()
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    const projects = Map.groupBy(specifications, ({ project }) => project)
    const order = [...projects].toSorted(
      ([one], [other]) => one.config.sequence.groupOrder - other.config.sequence.groupOrder,
    )
    for (const [{ name }, files] of order)
      this.#groups.set(name, { name, files: files.length, ended: 0, passed: 0, failed: 0, skipped: 0 })
    this.#showsPrinted = this.#screen.verbose || specifications.length === 1
    this.#timer = setInterval(() => this.#show(), REWRITE_MS)
  }

  onTestModuleQueued(module: TestModule): void {
    this.#running.add(module)
    this.#groupOf(module).startedAt ??= performance.now()
  }

  onUserConsoleLog({ content, taskId = '' }: { readonly content: string; readonly taskId?: string }): void {
    this.#print(taskId, content)
  }

  onTestCaseResult(test: TestCase): void {
    if (!isWanted(test, this.#screen.pattern)) return
    const { state } = test.result()
    const title = `${relative(this.#screen.root, test.module.moduleId)} > ${test.fullName}`
    const ms = test.diagnostic()?.duration ?? 0
    if (state === 'failed') this.say(`✗ ${title}`)
    else this.#printed.delete(test.id)
    if (this.#screen.verbose && state !== 'failed')
      this.say(`${state === 'passed' ? '✓' : '-'} ${title} (${Math.round(ms)} ms)`)
    if (ms > SLOW_MS) this.#slow.push({ title, ms })
  }

  onTestModuleEnd(module: TestModule): void {
    const group = this.#groupOf(module)
    group.ended += 1
    this.#running.delete(module)
    // Not by the results as they are reported, which may be later than the end of their file.
    const { passed, failed, skipped } = countTests([module], 0, this.#screen.pattern)
    group.passed += passed
    group.failed += failed
    group.skipped += countSkipped(skipped)
    if ([module, ...module.children.allSuites()].some((part) => part.errors().length > 0))
      this.say(`✗ ${relative(this.#screen.root, module.moduleId)}`)
    if (group.ended < group.files) return
    group.endedAt = performance.now()
    this.say(describeGroup(group))
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer)
    this.#showsPrinted = true
    if (this.#isLive) this.#screen.write('\r\u001B[K')
    this.#isLive = false
  }

  #print(id: string, text: string): void {
    if (this.#showsPrinted) this.say(text.trimEnd())
    else this.#printed.set(id, `${this.#printed.get(id) ?? ''}${text}`.slice(-LONGEST_PRINTED))
  }

  #groupOf({ project }: TestModule): GroupState {
    const group = this.#groups.get(project.name)
    if (group === undefined) throw new Error(`${project.name} is not a group of this run`)
    return group
  }

  #show(): void {
    const { columns, write } = this.#screen
    const now = performance.now()
    if (columns === undefined && now - this.#shownAt < REPEAT_MS) return
    const running = [...this.#running].flatMap((module) => [...module.children.allTests()])
    const line = describeProgress(this.groups, now, running.filter((test) => test.result().state === 'passed').length)
    this.#isLive = columns !== undefined
    if (columns === undefined) this.say(line)
    else write(`\r\u001B[K${line.slice(0, columns - 1)}`)
  }
}

/** The line about a group that has ended. */
function describeGroup({ name, files, passed, failed, skipped, startedAt = 0, endedAt = 0 }: GroupState): string {
  const counts = [`${passed} passed`, ...count(failed, 'failed'), ...count(skipped, 'skipped')].join(', ')
  return `${failed > 0 ? '✗' : '✓'} ${name}: ${counts}, ${plural(files, 'file')}, ${seconds(endedAt - startedAt)}`
}

/** The line about what runs now, and what is left. Files that still run have this number of passed tests. */
function describeProgress(groups: readonly GroupState[], now: number, passedSince: number): string {
  const left = groups.filter(({ endedAt }) => endedAt === undefined)
  const [first, ...later] = left.toSorted((one, other) => Number(other.startedAt ?? 0) - Number(one.startedAt ?? 0))
  if (first === undefined) return 'Ending …'
  const { name, files, ended, passed, failed, startedAt = now } = first
  const done = Math.floor((ended / files) * BAR)
  const bar = '█'.repeat(done) + '░'.repeat(BAR - done)
  const counts = [
    `${ended} of ${plural(files, 'file')}`,
    `${passed + passedSince} passed`,
    ...count(failed, 'failed'),
  ].join(', ')
  const then = later.length === 0 ? '' : `, then ${plural(sum(later), 'file')} in ${plural(later.length, 'group')}`
  return `  ${name} ${bar} ${counts}, ${seconds(now - startedAt)}${then}`
}

function sum(groups: readonly GroupState[]): number {
  return groups.reduce((total, { files, ended }) => total + files - ended, 0)
}

function count(number: number, what: string): string[] {
  return number === 0 ? [] : [`${number} ${what}`]
}

/** A number and its noun. */
export function plural(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** A duration in whole seconds. */
export function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`
}
