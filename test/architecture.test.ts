import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { TASK_STATES } from '../packages/queue/src/task.ts'

const repository = resolve(import.meta.dirname, '..')

const { exports: ENTRIES } = JSON.parse(readFileSync(join(repository, 'packages/webhooks/package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string>>
}

interface Import {
  readonly file: string
  readonly from: string
  readonly typeOnly: boolean
  /** Imported when it is needed, not with the file. */
  readonly later: boolean
}

/** The imports of the sources of a folder. Tests and their helpers are left out, because they may import more. */
function importsOf(folder: string): Import[] {
  const files = globSync(`${folder}/**/*.{ts,tsx}`, { cwd: repository, exclude: ['**/*.test.ts', '**/testing/**'] })
  return files.flatMap((file) => {
    const statements = readFileSync(join(repository, file), 'utf8').matchAll(
      /^(?:import|export)( type)? [^;'"]*?from '([^']+)'|^[^*\n]*\bimport\('([^']+)'\)/gms,
    )
    return Array.from(statements, ([, type, from, later = '']) => ({
      ...{ file, from: from ?? later, typeOnly: type !== undefined, later: from === undefined },
    }))
  })
}

describe('packages', () => {
  it.each([
    ['kernel', [], []],
    ['webhooks', ['kernel'], []],
    ['queue', ['kernel'], []],
    ['gateway', ['kernel', 'queue', 'webhooks'], ['fulfilment']],
    ['fulfilment', ['kernel'], []],
    ['handler', ['kernel', 'webhooks'], []],
    ['simulator', ['webhooks/signing'], []],
    ['console', ['kernel/money'], ['gateway']],
    [
      'cli',
      [
        ...[
          'kernel/money',
          'kernel/mongo',
          'kernel/http',
          'kernel/secrets',
          'kernel/settings',
          'simulator',
          'webhooks',
        ],
        ...['gateway/webhooks/providers', 'gateway/webhooks/find-wanting', 'gateway/handlers', 'gateway/inbox'],
      ],
      ['gateway'],
    ],
  ])('%s imports only %s, and only types of %s', (name, values, types) => {
    const own = importsOf(`packages/${name}/src`)
    expect(own.length).toBeGreaterThan(10)
    const forbidden = own.filter(({ from, typeOnly }) => {
      const [, path = '', other = ''] = /^@oncehook\/((\w+).*)/.exec(from) ?? []
      if (path === '' || values.some((value) => `${path}/`.startsWith(`${value}/`))) return false
      return !(typeOnly && types.includes(other))
    })
    expect(forbidden).toEqual([])
  })
})

describe('webhooks', () => {
  it('is entered by its documented entries only, and by tests through those of testing', () => {
    const entries = ['.', './express', './fastify', './fetch', './koa', './providers']
    expect(Object.keys(ENTRIES)).toEqual([...entries, './signing/*', './testing/*'])
    const others = ['gateway', 'cli', 'fulfilment', 'handler', 'simulator'].map((name) => `packages/${name}/src`)
    const used = others
      .flatMap(importsOf)
      .filter(({ from }) => /^@oncehook\/webhooks(?:\/|$)|\/webhooks\/src\//.test(from))
    expect(used.length).toBeGreaterThan(20)
    const isEntry = (from: string): boolean => entries.includes(from.replace('@oncehook/webhooks', '.'))
    expect(used.filter(({ from }) => !isEntry(from) && !from.startsWith('@oncehook/webhooks/signing/'))).toEqual([])
    const readme = readFileSync(join(repository, 'packages/webhooks/README.md'), 'utf8')
    const documented = entries.map((entry) => entry.replace('.', '@oncehook/webhooks'))
    expect(documented.filter((name) => !readme.includes(`'${name}'`))).toEqual([])
  })

  it('signs independently of how it verifies', () => {
    const folder = 'packages/webhooks/src/signing'
    const foreign = importsOf(folder).filter(({ file, from }) => {
      const isOwn = from.startsWith('.') && join(file, '..', from).startsWith(`${folder}/`)
      // The data of a preset serves both. The vectors are made without it.
      const isData = join(file, '..', from).startsWith('packages/webhooks/src/presets/')
      return !isOwn && !isData && !from.startsWith('node:') && from !== '@oncehook/kernel/money/currencies'
    })
    expect(foreign).toEqual([])
    const others = importsOf('packages/webhooks/src').filter(({ file }) => !file.startsWith(`${folder}/`))
    expect(others.filter(({ file, from }) => join(file, '..', from).startsWith(`${folder}/`))).toEqual([])
  })

  it('needs no server, no database and no package besides zod', () => {
    const used = importsOf('packages/webhooks/src').map(({ from }) => from)
    const foreign = used.filter((from) => !from.startsWith('.') && !from.startsWith('node:'))
    expect(new Set(foreign.filter((from) => !from.startsWith('@oncehook/kernel/')))).toEqual(new Set(['zod']))
    expect(used.filter((from) => /^node:(?:https?|net|fs)\b/.test(from))).toEqual([])
    expect(used.filter((from) => /^@oncehook\/kernel\/(?:http\/server|mongo|rpc)\b/.test(from))).toEqual([])
  })
})

describe('handler', () => {
  it('uses only the main entry of webhooks, and loads no driver that its user may not have', () => {
    const used = importsOf('packages/handler/src')
    expect(new Set(used.map(({ from }) => from).filter((from) => from.startsWith('@oncehook/webhooks')))).toEqual(
      new Set(['@oncehook/webhooks']),
    )
    const drivers = used.filter(({ from, typeOnly }) => ['pg', 'mongodb'].includes(from) && !typeOnly)
    expect(drivers.filter(({ later }) => !later)).toEqual([])
    expect(new Set(drivers.map(({ file }) => file))).toEqual(
      new Set(['packages/handler/src/mongo/set-up-mongo.ts', 'packages/handler/src/postgres/set-up-postgres.ts']),
    )
  })
})

describe('folders', () => {
  it.each([
    ['gateway', [...['start', 'privacy', 'operator', 'orders', 'webhooks', 'http'], ...['handlers', 'inbox']]],
    ['queue', ['dispatch', 'claim', 'order', 'insert']],
    ['fulfilment', ['http', 'payments', 'receipts', 'orders']],
  ])('of %s import along the way of a delivery and never back', (name, order) => {
    const source = `packages/${name}/src/`
    const back = order.flatMap((folder, index) =>
      importsOf(`${source}${folder}`).filter(({ file, from }) => {
        if (!from.startsWith('.')) return false
        const other = join(file, '..', from).slice(source.length).split('/', 1)[0] ?? ''
        return order.slice(0, index).includes(other)
      }),
    )
    expect(back).toEqual([])
  })
})

describe('the files', () => {
  it.each(['queue', 'gateway'])('of %s never import each other in a circle, types left out', (name) => {
    const imports = new Map<string, string[]>()
    for (const { file, from, typeOnly } of importsOf(`packages/${name}/src`)) {
      if (typeOnly || !from.startsWith('.')) continue
      imports.set(file, [...(imports.get(file) ?? []), join(file, '..', from)])
    }
    expect(imports.size).toBeGreaterThan(5)
    expect(circlesOf(imports)).toEqual([])
  })
})

/** The circles of a graph, each as its files: a file from which the others lead back to it. */
function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = []
  const finished = new Set<string>()
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file])
    else if (!finished.has(file)) for (const next of imports.get(file) ?? []) walk(next, [...path, file])
    finished.add(file)
  }
  for (const file of imports.keys()) walk(file, [])
  return circles
}

describe('an update command', () => {
  it('is sent by one file, which checks its reply', () => {
    const files = globSync('packages/*/src/**/*.ts', { cwd: repository, exclude: ['**/*.test.ts', '**/testing/**'] })
    const sending = files.filter((file) =>
      /\.command\(\{\s*update\b/.test(readFileSync(join(repository, file), 'utf8')),
    )
    expect(sending).toEqual(['packages/kernel/src/mongo/bulk-update.ts'])
  })
})

/** The text before the `{` of the object that surrounds a position in a text. */
function beforeObject(text: string, place: number): string {
  let depth = 0
  for (let index = place - 1; index >= 0; index -= 1) {
    if (text[index] === '}') depth += 1
    if (text[index] === '{') depth -= 1
    if (depth < 0) return text.slice(0, index)
  }
  return ''
}

describe('the state of an event', () => {
  const FOLDERS = /^packages\/(?:queue|gateway\/src\/inbox)\//
  const STATE = new RegExp(`(?<!readonly )\\bstate: (?=\\{|'(?:${TASK_STATES.join('|')})')`, 'g')
  const FILTER =
    /(?:\b(?:q|filter|partialFilterExpression)|\$match|\$group|\bIS_\w+(?:: Filter<\w+>)?)(?::| =) $|\bfind\(db, $/

  it('is written by one file, and the others only search by it', () => {
    const files = globSync('packages/*/src/**/*.ts', { cwd: repository, exclude: ['**/*.test.ts', '**/testing/**'] })
    const writing = files.filter((file) => {
      const text = readFileSync(join(repository, file), 'utf8')
      // It decides on a state, and `settle` writes it.
      if (file.endsWith('/dispatch/retry-policy.ts')) return false
      if (!FOLDERS.test(file) && !/\b(?:insert|update): EVENTS\b/.test(text)) return false
      return Array.from(text.matchAll(STATE)).some(({ index }) => !FILTER.test(beforeObject(text, index)))
    })
    expect(writing).toEqual(['packages/queue/src/transitions.ts'])
  })
})

describe('the network', () => {
  it('is reached by a fetch that is an argument', () => {
    const files = globSync('packages/*/src/**/*.ts', { cwd: repository, exclude: ['**/*.test.ts', '**/testing/**'] })
    const bound = files.filter((file) =>
      /(?<!typeof )globalThis\.fetch/.test(readFileSync(join(repository, file), 'utf8')),
    )
    // The library's entry has a default, because callers have no main.ts of ours.
    const allowed = /\/main\.ts$|^packages\/webhooks\/src\/create-verifier\.ts$/
    expect(bound.filter((file) => !allowed.test(file))).toEqual([])
  })
})
