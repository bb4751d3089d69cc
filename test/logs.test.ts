import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const repository = resolve(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(repository, path), 'utf8')

/** A kind of log line: the services that write it and its levels. */
interface Kind {
  readonly services: Set<string>
  readonly levels: Set<string>
}

const SERVICES: Record<string, string> = {
  gateway: 'gateway',
  fulfilment: 'fulfilment',
  kernel: 'both',
  queue: 'gateway',
}

/** Calls whose event is not written in the call itself. */
const CHOSEN_ELSEWHERE: Record<string, readonly string[]> = {
  'packages/gateway/src/webhooks/webhooks.ts': ['webhook.recorded', 'webhook.duplicate'],
}

/** The call that begins at this index, up to the parenthesis that closes it. */
function callAt(source: string, start: number): string {
  let open = 0
  for (let index = source.indexOf('(', start); index < source.length; index += 1) {
    if (source[index] === '(') open += 1
    if (source[index] === ')') open -= 1
    if (open === 0) return source.slice(start, index + 1)
  }
  return source.slice(start)
}

/** The kinds of log lines that the services can write, and the calls whose event is unknown. */
function writtenKinds(): { kinds: Map<string, Kind>; unnamed: string[] } {
  const kinds = new Map<string, Kind>()
  const unnamed: string[] = []
  const files = globSync('packages/{gateway,fulfilment,kernel,queue,webhooks}/src/**/*.ts', { cwd: repository })
  for (const file of files.filter((one) => !/\.test\.ts$|\/testing\//.test(one))) {
    const source = read(file)
    const service = SERVICES[file.split('/')[1] ?? ''] ?? file
    const chosen = [...(CHOSEN_ELSEWHERE[file] ?? [])]
    for (const { index } of source.matchAll(/\blogger(?:\.(?:trace|debug|info|warn|error|fatal)|\[[^\]]+\])\(/g)) {
      const call = callAt(source, index)
      const levels = call.slice(0, call.indexOf('(')).match(/\b(?:trace|debug|info|warn|error|fatal)\b/g) ?? []
      const events = Array.from(call.matchAll(/'([a-z]+(?:-[a-z]+)*\.[a-z]+(?:-[a-z]+)*)'/g), ([, name = '']) => name)
      const isChosen = /`webhook\.\$\{outcome\}`/.test(call)
      const names = isChosen ? [...events, ...chosen.splice(0)] : events
      if (names.length === 0) unnamed.push(`${file}: ${call}`)
      for (const name of names) {
        const kind = kinds.get(name) ?? { services: new Set<string>(), levels: new Set<string>() }
        kinds.set(name, kind)
        kind.services.add(service)
        for (const level of levels) kind.levels.add(level)
      }
    }
    if (chosen.length > 0) unnamed.push(`${file}: ${chosen.join()}`)
  }
  return { kinds, unnamed }
}

/** The services that write a line, in the words of the document. */
function nameServices(services: ReadonlySet<string>): string {
  const [first = '', ...others] = services
  return others.length > 0 ? 'both' : first
}

const { kinds, unnamed } = writtenKinds()

describe('docs/reference/logs.md', () => {
  it('lists every kind of log line that the services write, with its service and its levels', () => {
    const rows = read('docs/reference/logs.md').matchAll(
      /^\| (`[a-z-]+\.[a-z-]+`(?:, `[a-z-]+\.[a-z-]+`)*) \| ([a-z, ]+) \| (\w+) \| .+ \|$/gm,
    )
    const listed = Array.from(rows, ([, names = '', levels = '', service = '']) =>
      names.split(', ').map((name) => [name.slice(1, -1), levels, service]),
    ).flat()
    const written = Array.from(kinds, ([name, { levels, services }]) => {
      return [name, [...levels].toSorted().join(', '), nameServices(services)]
    })
    expect(unnamed).toEqual([])
    expect(written.length).toBeGreaterThan(70)
    expect(listed.toSorted()).toEqual(written.toSorted())
  })

  it('lists each that the other documents name', () => {
    const documents = [
      ...['alert', 'handler-problem', 'refused-delivery', 'replay', 'rotate-a-secret'].map(
        (name) => `docs/how-to/${name}.md`,
      ),
      'docs/reference/errors.md',
      'docs/explanation/privacy.md',
      'docs/how-to/upgrade.md',
      'SECURITY.md',
    ]
    const prefixes = new Set(Array.from(kinds.keys(), (name) => name.split('.')[0]))
    // Names of other things: procedures, actions of the audit log, types of events, files.
    const others =
      /^(?:events|receipts|payment|encryption|service|order)\.|^refusals\.counts$|\.(?:md|ts|json|yaml|conf)$/
    const named = documents.flatMap((path) =>
      Array.from(read(path).matchAll(/`([a-z]+(?:-[a-z]+)*\.[a-z]+(?:-[a-z]+)*)`/g), ([, name = '']) => name),
    )
    const meant = named.filter((name) => prefixes.has(name.split('.')[0]) && !others.test(name))
    expect(meant.length).toBeGreaterThan(15)
    expect(meant.filter((name) => !kinds.has(name))).toEqual([])
  })
})
