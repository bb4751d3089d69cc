import { hash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Delivery } from '../delivery.ts'
import type { Provider } from '../provider.ts'
import { hostileBodies } from '../testing/hostile-bodies.ts'
import { makeProvider } from '../testing/make-provider.ts'
import { deliveryOf, readVectorFiles, type Vector } from '../testing/vectors.ts'
import { SCHEMES } from './schemes.ts'

const MOST_MS = 20
const MIB = 1_048_576
const MOST_BYTES = 8 * MIB
// The least of several runs is what the work takes; the others also measure what else the machine did.
const MOST_RUNS = 8
// As large as a delivery may be, and as large as what some schemes read before the signature.
const BODIES = [1_048_576, 196_608, 65_536].flatMap(hostileBodies)

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void

interface Cost {
  /** Milliseconds of this thread, in user space and in the kernel. */
  readonly ms: number
  /** How far the heap and the buffers beside it grew. */
  readonly bytes: number
}

/** What one check of a delivery costs, beginning with room on the heap. */
function measure(check: () => unknown): Cost {
  collect({ type: 'minor' })
  const memory = (): number => {
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = memory()
  const started = process.threadCpuUsage()
  check()
  const { user, system } = process.threadCpuUsage(started)
  return { ms: (user + system) / 1_000, bytes: memory() - before }
}

function leastOf(check: () => unknown): Cost {
  let least: Cost = { ms: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
  for (let run = 0; run < MOST_RUNS && (least.ms > MOST_MS || least.bytes > MOST_BYTES); run += 1) {
    const { ms, bytes } = measure(check)
    least = { ms: Math.min(least.ms, ms), bytes: Math.min(least.bytes, bytes) }
  }
  return least
}

interface Attacked {
  readonly name: string
  readonly provider: Provider
  readonly delivery: Delivery
  readonly now: number
}

/** One delivery of each way in which a scheme is signed, with as many secrets as a provider can have. */
function* attackedOf(scheme: string): Generator<Attacked> {
  const cases = readVectorFiles().find((file) => file.scheme === scheme)?.cases ?? []
  const ways = new Map<string, Vector>()
  for (const vector of cases.filter(({ verdict }) => verdict === 'accepted')) {
    const { toleranceSeconds: _, publicUrl: __, ...settings } = vector.settings ?? {}
    const names = vector.headers.map(([name]) => name.toLowerCase()).toSorted()
    const kind = /(?:\W|^)(?:v\da?[,=]|sha\d+=)/g.exec(vector.headers.map(([, value]) => value).join(' '))?.[0]
    ways.set(JSON.stringify([settings, names, kind, vector.secret.slice(0, 5)]), vector)
  }
  for (const vector of ways.values()) {
    const secrets = vector.secret === '' ? [] : [0, 1, 2].map(() => ({ value: vector.secret }))
    const provider = makeProvider({ settings: { scheme, ...vector.settings }, secrets })
    yield { name: vector.why, provider, delivery: deliveryOf(vector), now: vector.now * 1_000 }
  }
}

/** The headers with each signature repeated as often as the header section has room. */
function crowded(headers: readonly string[]): string[] {
  return headers.map((text, at) => {
    const signature = at % 2 === 1 ? /(?:^|[ ,])(v1a,\S+)/.exec(text)?.[1] : undefined
    if (signature === undefined) return text
    return Array.from({ length: 100 }, (_, n) =>
      signature.replace(/^v1a,./, `v1a,${LETTERS[n % LETTERS.length]}`),
    ).join(' ')
  })
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'

/** All bodies for the first way in which a scheme is signed, some for each other way. */
function* hostileDeliveries(
  { rawHeaders, query }: Delivery,
  isFirst: boolean,
): Generator<readonly [what: string, delivery: Delivery]> {
  for (const [what, rawBody] of isFirst ? BODIES : BODIES.filter((_, at) => at % 9 === 0)) {
    yield [what, { rawBody, rawHeaders: crowded(rawHeaders), query }]
    const bodyHash = hash('sha256', rawBody)
    if (query.includes('bodySHA256=')) {
      yield [`${what}, its hash told`, { rawBody, rawHeaders, query: `bodySHA256=${bodyHash}` }]
    }
  }
}

/** No test asks anybody. */
const fetch: typeof globalThis.fetch = () => Promise.reject(new Error('nobody is asked'))

describe.each([...SCHEMES.keys()])('a body that %s refuses', (scheme) => {
  it(`costs at most ${MOST_MS} ms and ${MOST_BYTES / MIB} MiB, whatever it is`, () => {
    const attacked = [...attackedOf(scheme)]
    expect(attacked.length).toBeGreaterThan(0)
    const tooMuch: string[] = []
    for (const [way, { name, provider, delivery, now }] of attacked.entries()) {
      for (const [what, hostile] of hostileDeliveries(delivery, way === 0)) {
        const check = (): void => {
          const verdict = provider.verify(hostile, now, fetch)
          if (verdict instanceof Promise) verdict.catch(() => undefined)
        }
        const { ms, bytes } = leastOf(check)
        if (ms > MOST_MS || bytes > MOST_BYTES) {
          tooMuch.push(
            `${what}, ${hostile.rawBody.length} bytes (${name}): ${ms.toFixed(1)} ms, ${(bytes / MIB).toFixed(1)} MiB`,
          )
        }
      }
    }
    expect(tooMuch).toEqual([])
  })
})
