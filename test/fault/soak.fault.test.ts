import { randomInt } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { residentMib } from '../../bench/measure/process-usage.ts'
import { SERVICE_FLAGS } from '../../scripts/start/node-flags.ts'
import { addMixedLoad, createOrdersAfterFault, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { type MongodUnderTest, startReplicaSet } from '../support/mongod/mongod-under-test.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import type { ServiceUnderTest } from '../support/stack/service-under-test.ts'
import { startStack } from '../support/stack/stack.ts'

// The documented row: an hour, with a fault every 20 s.
const SECONDS = Number(process.env.SOAK_SECONDS ?? 24)
const EVERY_SECONDS = Number(process.env.SOAK_EVERY ?? 4)
const SEED = Number(process.env.SOAK_SEED ?? randomInt(2 ** 31))
const FAULTS = Math.floor(SECONDS / EVERY_SECONDS)

const PER_SECOND = 20
const LOW = 2 * PER_SECOND * EVERY_SECONDS
const FROZEN_MS = 4_000
const MEMORY_MIB = 256
const MINUTES_10 = 600
const SLOPE_MIB = 1
const IS_LONG = SECONDS >= 3 * MINUTES_10

/** The resources that a process used at an instant, in seconds since the beginning. */
interface Sample {
  readonly at: number
  readonly mib: number
  readonly files: number
}

/** The growth of a value per second: the slope of the line through its samples, by least squares. */
function slopeOf(samples: readonly Sample[], value: (sample: Sample) => number): number {
  const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length
  const [at, height] = [mean(samples.map((sample) => sample.at)), mean(samples.map(value))]
  const products = samples.map((sample) => (sample.at - at) * (value(sample) - height))
  return mean(products) / mean(samples.map((sample) => (sample.at - at) ** 2))
}

it(`FP-25: ${FAULTS} faults at random in ${SECONDS} s with the seed ${SEED}: nothing lost, nothing grows`, {
  timeout: 300_000 + 2_000 * SECONDS,
}, async () => {
  process.stderr.write(`SOAK_SEED=${SEED}\n`)
  const random = seededRandom(SEED)
  await using set = await startReplicaSet(3)
  const flags = { NODE_OPTIONS: SERVICE_FLAGS.join(' ') }
  await using stack = await startStack({ mongoUri: set.uri, gateway: flags, fulfilment: flags })
  await using source = new WebhookSource(stack.provider('acme'), { perSecond: PER_SECOND, parallel: 100 })
  const { gateway, fulfilment } = stack
  const services = [gateway, fulfilment]

  const again = async (service: ServiceUnderTest, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    await service.kill(signal)
    await service.restart()
  }
  const freeze = async (service: ServiceUnderTest): Promise<void> => {
    service.pause()
    // How long it is frozen.
    await sleep(FROZEN_MS)
    service.resume()
  }
  const killAgain = async (node: MongodUnderTest = expect.unreachable()): Promise<void> => {
    await node.kill('SIGKILL')
    await node.start()
    await set.untilWhole()
  }
  const faults: Readonly<Record<string, () => Promise<void>>> = {
    'gateway killed': () => again(gateway, 'SIGKILL'),
    'fulfilment killed': () => again(fulfilment, 'SIGKILL'),
    'gateway stopped': () => again(gateway, 'SIGTERM'),
    'fulfilment stopped': () => again(fulfilment, 'SIGTERM'),
    'gateway frozen': () => freeze(gateway),
    'fulfilment frozen': () => freeze(fulfilment),
    'primary killed': async () => killAgain(await set.primary()),
    'secondary killed': async () => killAgain((await set.secondaries())[Math.floor(random() * 2)]),
  }

  const begunAt = performance.now()
  const struck = new Map<string, number>()
  const samples = new Map(services.map((service) => [service.name, [] as Sample[]]))
  for (let count = 1; count <= FAULTS; count += 1) {
    if (source.left < LOW) addMixedLoad(source, await createOrdersAfterFault(stack, LOW / 2))
    void source.run()
    await sleep(Math.max(0, begunAt + count * EVERY_SECONDS * 1_000 - performance.now()))
    for (const { name, pid } of services) {
      const files = readdirSync(`/proc/${pid}/fd`).length
      samples.get(name)?.push({ at: (performance.now() - begunAt) / 1_000, mib: residentMib(pid), files })
    }
    const names = Object.keys(faults)
    const name = names[Math.floor(random() * names.length)] ?? expect.unreachable()
    expect(source.left, `deliveries that are due when this comes: ${name}`).toBeGreaterThan(0)
    await faults[name]?.()
    struck.set(name, (struck.get(name) ?? 0) + 1)
  }
  await stack.untilReady()
  await source.run()
  if (!IS_LONG) await outlastReceiptLeases(stack)
  await stack.untilSettled()

  const most = services.map(({ name }) => Math.max(...(samples.get(name) ?? []).map(({ mib }) => mib)))
  process.stderr.write(
    `${JSON.stringify(Object.fromEntries(struck))}, ${source.accepted} accepted, memory at most ${most.map(Math.round).join(' and ')} MiB\n`,
  )
  const row = { struck: Object.fromEntries(struck), volume: 500 }
  expect(await closingCheck(stack, source.log, row)).toEqual([])
  expect([...struck.values()].reduce((sum, times) => sum + times, 0)).toBe(FAULTS)
  for (const mib of most) expect(mib).toBeLessThan(MEMORY_MIB)
  if (!IS_LONG) return
  for (const taken of samples.values()) {
    const settled = taken.filter(({ at }) => at > SECONDS / 3)
    expect(slopeOf(settled, ({ mib }) => mib) * MINUTES_10).toBeLessThan(SLOPE_MIB)
    expect(slopeOf(settled, ({ files }) => files) * MINUTES_10).toBeLessThan(SLOPE_MIB)
  }
})
