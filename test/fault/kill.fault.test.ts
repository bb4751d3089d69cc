import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { addMixedLoad, createOrdersAfterFault, outlastReceiptLeases } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { type MongodUnderTest, startReplicaSet } from '../support/mongod/mongod-under-test.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import type { ServiceUnderTest } from '../support/stack/service-under-test.ts'
import { type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

// `npm run test:kill` sets them: the long form has 100 cycles at 500 deliveries a second, on one node and on three.
const CYCLES = { 1: Number(process.env.KILL_CYCLES ?? 6), 3: Number(process.env.KILL_CYCLES ?? 4) } as const
const PER_SECOND = Number(process.env.KILL_PER_SECOND ?? 150)
const SEED = Number(process.env.KILL_SEED ?? randomInt(2 ** 31))

const ORDERS_A_CYCLE = Number(process.env.KILL_ORDERS ?? 25)
/** New events must meet the dead process: what the load has left may be repetitions, which a gateway answers from memory. */
const ORDERS_AFTER_A_KILL = 5
const SETTLED_WITHIN_MS = 60_000
/** The time before the first kill and after the last: the starts, the rest of the load, settling, the closing check. */
const AROUND_MS = 300_000
/**
 * A kill with its load and its restart takes 14 s on two busy cores. Starts, elections and the end of the backlog have
 * separate deadlines with better messages. This one ends a hang. It grows with the cycles, so slow machines pass.
 */
const LONGEST_CYCLE_MS = 60_000
const VICTIMS = {
  1: ['gateway', 'fulfilment', 'primary'],
  3: ['gateway', 'fulfilment', 'primary', 'secondary'],
} as const
type Victim = (typeof VICTIMS)[3][number]

/** Draws the victims: each one occurs once per round, in random order. */
function drawVictims(nodes: 1 | 3, random: () => number): Victim[] {
  const victims: readonly Victim[] = VICTIMS[nodes]
  const rounds = Array.from({ length: Math.ceil(CYCLES[nodes] / victims.length) }, () =>
    victims.map((name) => ({ name, rank: random() })).toSorted((a, b) => a.rank - b.rank),
  )
  return rounds
    .flat()
    .map(({ name }) => name)
    .slice(0, CYCLES[nodes])
}

interface Figures {
  readonly cycles: number
  readonly begunAt: number
  readonly healthyAt: number
  readonly settledAt: number
  readonly answers: readonly (number | null)[]
  readonly accepted: number
}

/** Reports the real load: a busy machine sends less than requested. */
function logFigures({ cycles, begunAt, healthyAt, settledAt, answers, accepted }: Figures): void {
  const seconds = (healthyAt - begunAt) / 1_000
  const counted = Object.entries(Object.groupBy(answers, String)).map(([answer, all]) => `${all?.length} x ${answer}`)
  const lines = [
    `${cycles} kills under load, in ${seconds.toFixed(0)} s with all restarts`,
    `${answers.length} deliveries, ${(answers.length / seconds).toFixed(0)}/s of the ${PER_SECOND}/s asked for between`,
    `deaths (${counted.join(', ')}; null: no answer), ${accepted} accepted`,
    `settled ${((settledAt - healthyAt) / 1_000).toFixed(1)} s after the last was accepted`,
  ]
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** Returns while deliveries are due. If a busy machine sent all of them before that, it sends more. */
async function sendUntilSomeMoment(stack: Stack, source: WebhookSource, random: () => number): Promise<void> {
  do {
    addMixedLoad(source, await createOrdersAfterFault(stack, ORDERS_A_CYCLE))
    void source.run()
    // Wait for completed work, not for time, so that a slow machine is killed under load too.
    await source.untilLeft(Math.ceil(source.left * (0.4 + 0.6 * random())))
    await sleep(random() * 20)
  } while (source.left === 0)
}

describe.each([1, 3] as const)('FP-01 FP-02 FP-13 kill -9 of any process at random on %s node(s)', (nodes) => {
  const timeout = AROUND_MS + CYCLES[nodes] * LONGEST_CYCLE_MS
  it(`with the seed ${SEED}, under load, has no effect but time`, { timeout }, async () => {
    process.stderr.write(`KILL_SEED=${SEED}, ${nodes} node(s)\n`)
    const cycles = CYCLES[nodes]
    const random = seededRandom(SEED)
    await using set = await startReplicaSet(nodes)
    await using stack = await startStack({ mongoUri: set.uri })
    const victims: Readonly<Record<Victim, () => Promise<ServiceUnderTest | MongodUnderTest>>> = {
      gateway: async () => stack.gateway,
      fulfilment: async () => stack.fulfilment,
      primary: () => set.primary(),
      secondary: async () => (await set.secondaries())[Math.floor(random() * 2)] ?? expect.unreachable(),
    }
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: PER_SECOND, parallel: 200 })
    const countOf = (answer: number): number =>
      source.log.flatMap(({ answers }) => answers).filter((one) => one === answer).length
    const begunAt = performance.now()
    addMixedLoad(source, await createOrdersAfterFault(stack, ORDERS_A_CYCLE))
    void source.run()
    for (const name of drawVictims(nodes, random)) {
      // Ask before there is load: the answer of a busy server may take longer than the load lasts.
      const victim = await victims[name]()
      const later = await createOrdersAfterFault(stack, ORDERS_AFTER_A_KILL)
      await sendUntilSomeMoment(stack, source, random)
      await victim.kill('SIGKILL')
      addMixedLoad(source, later)
      void source.run()
      // Back at once, it could be missed by every delivery of a slow machine.
      if (name === 'primary' && nodes === 1)
        await until(
          async () => countOf(500),
          (count) => count > 0,
        )
      await sleep(random() * 300)
      await victim.start()
      await set.untilWhole()
    }
    await stack.untilReady()
    await source.run()
    const healthyAt = performance.now()
    if (cycles <= 10) await outlastReceiptLeases(stack)
    await until(
      () => stack.events.countDocuments({ state: { $in: ['pending', 'processing'] } }),
      (count) => count === 0,
      SETTLED_WITHIN_MS,
    )
    await stack.untilSettled()
    const settledAt = performance.now()
    expect(settledAt - healthyAt).toBeLessThan(SETTLED_WITHIN_MS)
    const row = { struck: { 'a kill under load': cycles }, volume: cycles * ORDERS_A_CYCLE * 4 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])

    const answers = source.log.flatMap((sent) => sent.answers)
    logFigures({ cycles, begunAt, healthyAt, settledAt, answers, accepted: source.accepted })
    expect(answers.filter((answer) => answer === null).length, 'deliveries that met a dead gateway').toBeGreaterThan(0)
    // An election among three is often over before a delivery has waited long enough for its 500.
    if (nodes === 3) return
    expect(countOf(500), 'deliveries that met a dead mongod').toBeGreaterThan(0)
    expect(await stack.events.countDocuments({ 'attempts.code': 'unavailable' })).toBeGreaterThan(0)
  })
})
