import type { Delivery } from '../delivery.ts'
import type { Provider } from '../provider.ts'
import { demandedSettings } from './make-provider.ts'
import { deliveryOf, providerOf, readVectorFiles, secretsOf, type Vector } from './vectors.ts'

/** The most bytes that a body may have for a fuzzed provider. */
const MAX_FUZZED_BYTES = 16_384

/** A delivery made of a published one by chance. */
export interface FuzzedDelivery {
  /** How to find it again: its number in the run, and what it was made of. */
  readonly name: string
  readonly provider: Provider
  readonly delivery: Delivery
  /** Milliseconds. */
  readonly now: number
}

/** A fuzzed delivery that HTTP can carry, and where to. */
interface SendableDelivery extends FuzzedDelivery {
  /** The last part of the path: a provider's name, now and then nobody's. */
  readonly path: string
}

/** Makes deliveries of all schemes, the same ones for the same seed. */
export interface Fuzzer {
  /** As in `PROVIDERS`. */
  readonly providers: Readonly<Record<string, object>>
  next(): FuzzedDelivery
  nextSendable(): SendableDelivery
}

/** Creates a fuzzer; `seed` is an integer. */
export function createFuzzer(seed: number): Fuzzer {
  const chance = createChance(seed)
  const { bases, providers } = readBases()
  const parts = collectParts(bases)
  let made = 0
  const next = (): FuzzedDelivery & Base => {
    const base = chance.oneOf(chance.oneOf(bases))
    const delivery = changeDelivery(base.delivery, { chance, parts })
    const now = (base.vector.now + (chance.once(10) ? chance.below(2_000) - 1_000 : 0)) * 1_000
    made += 1
    return { ...base, delivery, now, name: `delivery ${made} of seed ${seed}, made of ${base.name}` }
  }
  return {
    providers,
    next,
    nextSendable() {
      const one = next()
      return { ...one, path: chance.once(50) ? 'nobody' : one.path, delivery: toSendable(one.delivery) }
    },
  }
}

/** Decisions that look random and are the same for the same seed. */
interface Chance {
  below(limit: number): number
  /** True with a probability of one in `times`. */
  once(times: number): boolean
  oneOf<T>(list: readonly T[]): T
}

/** Mulberry32, by Tommy Ettinger, in the public domain. */
function createChance(seed: number): Chance {
  let state = seed | 0
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * limit)
  }
  return {
    below,
    once: (times) => below(times) === 0,
    oneOf<T>(list: readonly T[]): T {
      if (list.length === 0) throw new Error('There is nothing to choose from')
      return list[below(list.length)] as T
    },
  }
}

interface Base {
  readonly name: string
  readonly path: string
  readonly provider: Provider
  readonly delivery: Delivery
  readonly vector: Vector
}

/**
 * The sources of the deliveries: every published one, in a list for each scheme, so that no scheme is tried more than
 * others.
 */
function readBases(): { bases: Base[][]; providers: Record<string, object> } {
  const providers: Record<string, object> = {}
  const paths = new Map<string, string>()
  const bases = readVectorFiles().map(({ scheme, cases }) =>
    cases.map((vector): Base => {
      const { settings, why } = vector
      const secrets = secretsOf(vector)
      const demanded = { acceptShortSecret: true, ...demandedSettings(scheme) }
      const entry = { ...demanded, maxBytes: MAX_FUZZED_BYTES, ...settings, scheme, secrets }
      const key = JSON.stringify(entry)
      const path = paths.get(key) ?? `${scheme}-${paths.size}`
      paths.set(key, path)
      providers[path] = entry
      const provider = providerOf(scheme, vector)
      return { name: `${scheme}, ${why}`, path, provider, delivery: deliveryOf(vector), vector }
    }),
  )
  return { bases, providers }
}

/** Pieces of other deliveries, for faults that only a mixture finds. */
interface Parts {
  readonly names: readonly string[]
  readonly values: readonly string[]
  readonly bodies: readonly Buffer[]
}

function collectParts(bases: readonly (readonly Base[])[]): Parts {
  const deliveries = bases.flat().map(({ delivery }) => delivery)
  const lines = deliveries.flatMap(({ rawHeaders }) => rawHeaders)
  return {
    names: [...new Set(lines.filter((_, index) => index % 2 === 0)), 'content-type', 'content-encoding', 'x-other'],
    values: [...new Set(lines.filter((_, index) => index % 2 === 1)), ...ODD_HEADERS],
    bodies: deliveries.map(({ rawBody }) => rawBody),
  }
}

const ODD_HEADERS = [
  ...['', ' ', ',', ';', '=', '.', 't=', 'v1=', 'v1,', 't=1,v1=', 'h=,', 'sha256=', 'a.b.c', '..', '0', '-1'],
  ...['9999999999'],
  ...[
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain',
    'application/json; charset=latin1',
    '/',
    ';;',
  ],
  ...['gzip', 'identity', 'é'.repeat(64), 'A'.repeat(2_000), '='.repeat(500), ','.repeat(1_000), ' v1,'.repeat(300)],
]

const ODD_VALUES = [
  ...['null', 'true', '0', '-0', '-1', '1e400', '1e-7', '9223372036854775808', '0.1', '[]', '{}', '""', '" "'],
  ...['"\\ud800"'],
  ...['"\\u0000"', '"constructor"', '{"__proto__":{"id":1}}', '"1.999"', '"1e3"', '"EUR"', '"2026-13-45T99:99:99Z"'],
  ...[
    `"${'x'.repeat(300)}"`,
    '[[[[[[]]]]]]',
    `${'['.repeat(600)}${']'.repeat(600)}`,
    '{"id":{"id":{"id":1}}}',
    '[null,1,"a"]',
  ],
]

interface Making {
  readonly chance: Chance
  readonly parts: Parts
}

function changeDelivery({ rawBody, rawHeaders, query }: Delivery, making: Making): Delivery {
  const { chance } = making
  // One in some stays as it is, so that what is behind the check is reached too.
  if (chance.once(8)) return { rawBody, rawHeaders, query }
  const changesBody = chance.once(2)
  return {
    rawBody: changesBody ? changeBody(rawBody, making) : rawBody,
    rawHeaders: changesBody && chance.once(2) ? rawHeaders : changeHeaders(rawHeaders, making),
    query: chance.once(8) ? changeText(query, chance) : query,
  }
}

function changeBody(body: Buffer, { chance, parts }: Making): Buffer {
  const at = chance.below(body.length + 1)
  const end = at + chance.below(12)
  const kinds: readonly (() => Buffer)[] = [
    () => Buffer.concat([body.subarray(0, at), randomBytes(chance, chance.below(6)), body.subarray(end)]),
    () => randomBytes(chance, chance.below(200)),
    () => Buffer.concat([body.subarray(0, at), chance.oneOf(parts.bodies).subarray(chance.below(50))]),
    () => chance.oneOf(parts.bodies),
    () => Buffer.from(chance.oneOf(ODD_VALUES)),
    () => (chance.once(2) ? Buffer.alloc(MAX_FUZZED_BYTES + chance.below(4), 0x20) : body.subarray(0, at)),
    () => replaceValue(body, chance),
    () => replaceValue(body, chance),
    () => replaceValue(replaceValue(body, chance), chance),
  ]
  return chance.oneOf(kinds)()
}

/** The body with one value of its JSON exchanged for an odd one; not parsed, so that the rest stays as it is. */
function replaceValue(body: Buffer, chance: Chance): Buffer {
  const text = body.toString('latin1')
  const values = Array.from(
    text.matchAll(/(?<=[:[,]\s*)(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null)(?=\s*[,}\]])/g),
  )
  if (values.length === 0) return Buffer.from(chance.oneOf(ODD_VALUES))
  const { 0: found, index } = chance.oneOf(values)
  return Buffer.from(text.slice(0, index) + chance.oneOf(ODD_VALUES) + text.slice(index + found.length), 'latin1')
}

function randomBytes(chance: Chance, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => chance.below(256)))
}

function changeHeaders(headers: readonly string[], { chance, parts }: Making): string[] {
  const lines = linesOf(headers)
  const at = chance.below(lines.length)
  const [name = '', value = ''] = lines[at] ?? []
  const stranger: Line = [chance.oneOf(parts.names), chance.oneOf(parts.values)]
  const kinds: readonly (() => readonly Line[])[] = [
    () => lines.toSpliced(at, 1),
    () => [...lines, [name, value]],
    () => [...lines, stranger],
    () => lines.toSpliced(at, 1, [name, chance.oneOf(parts.values)]),
    () => lines.toSpliced(at, 1, [name, changeText(value, chance)]),
    () => lines.toSpliced(at, 1, [name.toUpperCase(), changeText(changeText(value, chance), chance)]),
    () => [...lines, ['Content-Type', chance.oneOf(ODD_HEADERS)]],
    () => (chance.once(4) ? [...lines, ['Content-Encoding', chance.oneOf(ODD_HEADERS)]] : []),
  ]
  return chance.oneOf(kinds)().flat()
}

function changeText(text: string, chance: Chance): string {
  const at = chance.below(text.length + 1)
  const inserted = randomBytes(chance, chance.below(4)).toString('latin1')
  return text.slice(0, at) + inserted + text.slice(at + chance.below(4))
}

/** The delivery without parts that no client can send in a request. */
function toSendable({ rawBody, rawHeaders, query }: Delivery): Delivery {
  const lines = linesOf(rawHeaders).filter(([name]) => name !== '')
  return {
    rawBody,
    rawHeaders: lines.flatMap(([name, value]) => [name, value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '').trim()]),
    query: query.replace(/[^\x21-\x7e]|#/g, ''),
  }
}

type Line = readonly [name: string, value: string]

function linesOf(headers: readonly string[]): Line[] {
  return headers.flatMap((name, index) => (index % 2 === 0 ? [[name, headers[index + 1] ?? ''] as const] : []))
}
