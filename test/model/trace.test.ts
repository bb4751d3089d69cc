import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, type TestContext } from 'vitest'
import { checkTrace, type Trace } from '../../scripts/model/check-trace.ts'
import { requireTool } from '../../scripts/tools/find-tool.ts'
import { LOST_ANSWER } from '../support/model/lose-answers.ts'
import type { RecordedLine } from '../support/model/recorded-line.ts'
import { deliverUntilAccepted, type RecordedRun, startRecordedRun } from '../support/model/recorded-run.ts'

const folder = resolve(import.meta.dirname, '../../docs/model')
const LONGEST_MS = 300_000

/** Both gateways get each event at the same time, and once more after its 200. */
async function deliverTwice({ gateways, makePayments }: RecordedRun): Promise<void> {
  const events = await makePayments(6, 1)
  for (let turn = 0; turn < 2; turn += 1) {
    await Promise.all(events.flatMap((event) => gateways.map(({ provider }) => deliverUntilAccepted(provider, event))))
  }
}

/** A second event of each order, about the same payment, at the same time and to the other gateway. */
async function payAgain({ gateways, makePayments }: RecordedRun): Promise<void> {
  const events = await makePayments(4, 2)
  await Promise.all(
    events.map((event, index) => deliverUntilAccepted(gateways[index % 2 === 0 ? 0 : 1].provider, event)),
  )
}

/** Two orders that one payment is for, at the same time and through both gateways. Then an operator replays some events. */
async function payTwoOrders({ gateways, makeSharedPayments, replay, stack }: RecordedRun): Promise<void> {
  const events = await makeSharedPayments(4)
  await Promise.all(events.map((event, index) => deliverUntilAccepted(gateways[index % 2 ? 1 : 0].provider, event)))
  await stack.untilSettled()
  for (const event of events.slice(0, 4)) await replay(event)
}

/** An operator replays events that have had their effect, while the provider repeats them. */
async function replayApplied({ gateways, makePayments, replay, stack }: RecordedRun): Promise<void> {
  const [first, second] = gateways
  const events = await makePayments(3, 1)
  await Promise.all(events.map((event) => deliverUntilAccepted(first.provider, event)))
  await stack.untilSettled()
  await Promise.all(events.flatMap((event) => [replay(event), deliverUntilAccepted(second.provider, event)]))
}

/** A gateway dies while it accepts, with calls in progress. The provider delivers everything again, to the other gateway. */
async function killGateway({ stack, gateways, makePayments, kill, untilRecorded }: RecordedRun): Promise<void> {
  const [first, second] = gateways
  const events = await makePayments(8, 1)
  const ids = new Set(events.map(({ id }) => id))
  const { pid } = first.service
  stack.fulfilment.pause()
  const deliveries = events.map((event) => first.provider.deliver(first.provider.write(event)))
  await untilRecorded(({ step, by, begun }) => step === 'call' && by === pid && isAbout(begun, ids))
  await kill(first)
  stack.fulfilment.resume()
  await Promise.all(deliveries)
  await Promise.all(events.map((event) => deliverUntilAccepted(second.provider, event)))
  await first.service.start()
}

function isAbout(note: RecordedLine['begun'], ids: ReadonlySet<string>): boolean {
  return note?.events.some(({ id }) => ids.has(id)) ?? false
}

/** A gateway dies when fulfilment has applied its events, before it reads the answer. The other one sends them again. */
async function killBeforeAnswer({ stack, gateways, makePayments, kill, untilRecorded }: RecordedRun): Promise<void> {
  const [first, second] = gateways
  const events = await makePayments(2, 1)
  const ids = new Set(events.map(({ id }) => id))
  stack.fulfilment.pause()
  await Promise.all(events.map((event) => deliverUntilAccepted(first.provider, event)))
  await untilRecorded(({ step, begun }) => step === 'call' && isAbout(begun, ids))
  // The request is written after the step is recorded. Nothing shows when: fulfilment, which would receive it, is paused.
  await sleep(500)
  first.service.pause()
  stack.fulfilment.resume()
  await untilRecorded(({ step, begun }) => step === 'write' && isAbout(begun, ids))
  await kill(first)
  await untilRecorded(({ step, by, begun }) => step === 'call' && by === second.service.pid && isAbout(begun, ids))
  await first.service.start()
}

/** The answer to an insert is lost. The record is claimed, and its gateway does not know. It is taken over when its claim ends. */
async function loseAnswer({ gateways: [, second], makePayments }: RecordedRun): Promise<void> {
  const events = await makePayments(1, 1, LOST_ANSWER)
  await Promise.all(events.map((event) => deliverUntilAccepted(second.provider, event)))
}

/** Fulfilment dies while events are on their way to it. */
async function killFulfilment({ gateways: [first], makePayments, stack, untilRecorded }: RecordedRun): Promise<void> {
  const events = await makePayments(6, 1)
  const ids = new Set(events.map(({ id }) => id))
  await stack.fulfilment.kill('SIGKILL')
  await Promise.all(events.map((event) => deliverUntilAccepted(first.provider, event)))
  await untilRecorded(({ ended }) => ended?.events.some(({ id, result }) => ids.has(id) && result === 'later') ?? false)
  await stack.fulfilment.start()
}

/**
 * Lets a gateway sleep past the end of its claim in the middle of a call. The other gateway takes its event over, and is frozen
 * before it can settle. Then the first one wakes up, its call fails, and it writes the result of a claim that it has lost.
 */
async function outliveClaim({ stack, gateways, makePayments, untilRecorded }: RecordedRun): Promise<void> {
  const [event] = await makePayments(1, 1)
  if (event === undefined) throw new Error('There is no event')
  stack.fulfilment.pause()
  await deliverUntilAccepted(gateways[0].provider, event)
  const first = await untilRecorded((line) => isCall(line, event.id))
  const isSleeper = ({ pid }: { readonly pid: number }): boolean => pid === first.by
  const [sleeper, heir] = gateways.map(({ service }) => service).toSorted((one) => (isSleeper(one) ? -1 : 1))
  if (sleeper === undefined || heir === undefined) throw new Error('There are not two gateways')
  sleeper.pause()
  await untilRecorded((line) => isCall(line, event.id) && line.by === heir.pid)
  heir.pause()
  // The calls of both are lost. Only the sleeper is awake to see it.
  await stack.fulfilment.kill('SIGKILL')
  sleeper.resume()
  await untilRecorded((line) => line.by === sleeper.pid && isEndOfSettlement(line, event.id))
  heir.resume()
  await stack.fulfilment.start()
}

function isCall({ step, begun }: RecordedLine, id: string): boolean {
  return step === 'call' && begun?.events.some((one) => one.id === id) === true
}

function isEndOfSettlement({ ended }: RecordedLine, id: string): boolean {
  return ended?.events.some((one) => one.id === id && (one.verdict === 'lost' || one.verdict === 'kept')) === true
}

async function refusals(trace: Trace, context: TestContext): Promise<string[]> {
  return checkTrace({ jar: await requireTool('tlc', context), folder, trace })
}

const PHASES = [
  ...[loseAnswer, deliverTwice, payAgain, payTwoOrders, replayApplied],
  ...[killGateway, killBeforeAnswer, killFulfilment, outliveClaim],
]

describe('a recorded run with faults', () => {
  it('is explained by the model', { timeout: LONGEST_MS }, async (context) => {
    await using run = await startRecordedRun()
    for (const phase of PHASES) {
      await phase(run)
      if (phase !== loseAnswer) await run.stack.untilSettled()
    }
    const { lines, trace } = await run.finish()
    const steps = new Set(lines.flatMap(({ step = [] }) => step))
    expect([steps.has('replay'), steps.has('takeover'), steps.has('crash')]).toEqual([true, true, true])
    expect(trace.payments.flat().length).toBeGreaterThan(100)
    expect(await refusals(trace, context)).toEqual([])
    // A comparison that cannot fail shows nothing.
    const wrong = trace.module.replace('concern |-> "majority"', 'concern |-> "1"')
    expect(await refusals({ ...trace, module: wrong }, context)).toHaveLength(1)
  })
})
