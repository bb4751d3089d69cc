import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { closingCheck } from '../support/closing-check.ts'
import { addMixedLoad, createOrdersAfterFault, outlastReceiptLeases } from '../support/mixed-load.ts'
import { type MongodUnderTest, startReplicaSet } from '../support/mongod-under-test.ts'
import { seededRandom } from '../support/seeded-random.ts'
import type { ServiceUnderTest } from '../support/service-under-test.ts'
import { startStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { WebhookSource } from '../support/webhook-source.ts'

// `npm run test:kill` sets them: the long form has 100 cycles at 500 deliveries a second.
const CYCLES = Number(process.env.KILL_CYCLES ?? 10)
const PER_SECOND = Number(process.env.KILL_PER_SECOND ?? 150)
const SEED = Number(process.env.KILL_SEED ?? randomInt(2 ** 31))

const ORDERS_A_CYCLE = Number(process.env.KILL_ORDERS ?? 25)
const SETTLED_WITHIN_MS = 60_000
const MINUTES_MS = 60_000 * Math.max(3, CYCLES / 4)
const VICTIMS = ['gateway', 'fulfilment', 'mongod'] as const
type Victim = (typeof VICTIMS)[number]

/** Every victim comes up in each three cycles, in an order that nobody knows before. */
function drawVictims(random: () => number): Victim[] {
  const rounds = Array.from({ length: Math.ceil(CYCLES / VICTIMS.length) }, () =>
    VICTIMS.map((name) => ({ name, rank: random() })).toSorted((a, b) => a.rank - b.rank),
  )
  return rounds
    .flat()
    .map(({ name }) => name)
    .slice(0, CYCLES)
}

interface Figures {
  readonly begunAt: number
  readonly healthyAt: number
  readonly settledAt: number
  readonly answers: readonly (number | null)[]
  readonly accepted: number
  readonly killedUnderLoad: number
}

/** Tells how much load there really was: a busy machine sends less than it is asked to. */
function tellFigures({ begunAt, healthyAt, settledAt, answers, accepted, killedUnderLoad }: Figures): void {
  const seconds = (healthyAt - begunAt) / 1_000
  const counted = Object.entries(Object.groupBy(answers, String)).map(([answer, all]) => `${all?.length} x ${answer}`)
  const lines = [
    `${killedUnderLoad} of ${CYCLES} kills under load, in ${seconds.toFixed(0)} s with all restarts`,
    `${answers.length} deliveries, ${(answers.length / seconds).toFixed(0)}/s of the ${PER_SECOND}/s asked for between`,
    `deaths (${counted.join(', ')}; null: no answer), ${accepted} accepted`,
    `settled ${((settledAt - healthyAt) / 1_000).toFixed(1)} s after the last was accepted`,
  ]
  process.stderr.write(`${lines.join('\n')}\n`)
}

describe('FP-01 FP-02 FP-13 kill -9 at random', { timeout: MINUTES_MS }, () => {
  it(`of gateway, fulfilment and mongod, ${CYCLES} times under load with the seed ${SEED}, has no effect but time`, async () => {
    process.stderr.write(`KILL_SEED=${SEED}\n`)
    const random = seededRandom(SEED)
    await using set = await startReplicaSet(1)
    await using stack = await startStack({ mongoUri: set.uri })
    const victims: Readonly<Record<Victim, ServiceUnderTest | MongodUnderTest>> = {
      gateway: stack.gateway,
      fulfilment: stack.fulfilment,
      mongod: await set.primary(),
    }
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: PER_SECOND, parallel: 200 })
    const begunAt = performance.now()
    addMixedLoad(source, await createOrdersAfterFault(stack, ORDERS_A_CYCLE))
    void source.run()
    let killedUnderLoad = 0
    for (const name of drawVictims(random)) {
      addMixedLoad(source, await createOrdersAfterFault(stack, ORDERS_A_CYCLE))
      void source.run()
      // Work that is done, not time that is gone, so that a slow machine is killed under load too.
      await source.untilLeft(Math.ceil(source.left * (0.4 + 0.6 * random())))
      await sleep(random() * 20)
      if (source.left > 0) killedUnderLoad += 1
      await victims[name].kill('SIGKILL')
      await sleep(random() * 300)
      await victims[name].start()
      await set.primary()
    }
    await stack.untilReady()
    await source.run()
    const healthyAt = performance.now()
    if (CYCLES <= 10) await outlastReceiptLeases(stack)
    await until(
      () => stack.events.countDocuments({ state: { $in: ['pending', 'processing'] } }),
      (count) => count === 0,
      SETTLED_WITHIN_MS,
    )
    await stack.untilSettled()
    const settledAt = performance.now()
    expect(settledAt - healthyAt).toBeLessThan(SETTLED_WITHIN_MS)
    const row = { struck: { 'a kill under load': killedUnderLoad }, volume: CYCLES * ORDERS_A_CYCLE * 4 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])

    const answers = source.log.flatMap((sent) => sent.answers)
    tellFigures({ begunAt, healthyAt, settledAt, answers, accepted: source.accepted, killedUnderLoad })
    expect(killedUnderLoad, 'kills that came while deliveries were due').toBe(CYCLES)
    expect(answers.filter((answer) => answer === null).length, 'deliveries that met a dead gateway').toBeGreaterThan(0)
    expect(answers.filter((answer) => answer === 500).length, 'deliveries that met a dead mongod').toBeGreaterThan(0)
    expect(await stack.events.countDocuments({ 'attempts.code': 'unavailable' })).toBeGreaterThan(0)
  })
})
