import { join, resolve } from 'node:path'
import { beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { copySources } from '../../scripts/contracts/mutated-copy.ts'
import { checkTrace, type Trace } from '../../scripts/model/check-trace.ts'
import { type ProvidedTlc, provideTlc } from '../../scripts/model/provide-tlc.ts'
import { outliveLease } from '../support/model/outlive-lease.ts'
import { deliverUntilAccepted, type RecordedRun, startRecordedRun } from '../support/model/recorded-run.ts'

const repository = resolve(import.meta.dirname, '../..')
const folder = join(repository, 'docs/model')
const LONGEST_MS = 300_000

let tlc: ProvidedTlc
beforeAll(async () => {
  tlc = await provideTlc(process.env)
}, LONGEST_MS)

/** Both gateways get each event at the same time, and once more after its 200. */
async function deliverTwice({ gateways, makePayments }: RecordedRun): Promise<void> {
  const events = await makePayments(6, 1)
  for (let turn = 0; turn < 2; turn += 1) {
    await Promise.all(events.flatMap((event) => gateways.map(({ provider }) => deliverUntilAccepted(provider, event))))
  }
}

/** A second event of each order, about the same payment. */
async function payAgain({ gateways: [first, second], makePayments }: RecordedRun): Promise<void> {
  const events = await makePayments(4, 2)
  for (const [index, event] of events.entries()) {
    await deliverUntilAccepted((index % 3 === 0 ? first : second).provider, event)
  }
}

/** A gateway dies while it accepts. The provider delivers everything again, to the other gateway. */
async function killGateway(run: RecordedRun): Promise<void> {
  const [first, second] = run.gateways
  const events = await run.makePayments(8, 1)
  const deliveries = events.map((event) => first.provider.deliver(first.provider.write(event)))
  await Promise.race(deliveries)
  await run.kill(first)
  await Promise.all(deliveries)
  await Promise.all(events.map((event) => deliverUntilAccepted(second.provider, event)))
  await first.service.start()
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

async function refusals(trace: Trace, context: TestContext): Promise<string[]> {
  if ('missing' in tlc) return context.skip(tlc.missing)
  return checkTrace({ jar: tlc.jar, folder, trace })
}

describe('a recorded run with faults', () => {
  it('is explained by the model', { timeout: LONGEST_MS }, async (context) => {
    await using run = await startRecordedRun(repository)
    for (const phase of [deliverTwice, payAgain, outliveLease, killGateway, killFulfilment]) {
      await phase(run)
      await run.stack.untilSettled()
    }
    const trace = await run.finish()
    expect(trace.orders.flat().length).toBeGreaterThan(100)
    expect(await refusals(trace, context)).toEqual([])
  })
})

describe('a wrong gateway', () => {
  it.for([
    {
      breaks: 'a delivery is answered before a majority has the event',
      file: 'packages/gateway/src/inbox/inbox.ts',
      find: 'const verdict = await group.write(document, arrival.rawBody.length + OVERHEAD_BYTES)',
      replace: "void group.write(document, arrival.rawBody.length + OVERHEAD_BYTES)\n      const verdict = 'stored'",
      run: deliverTwice,
      tells: 'begin [kind |-> "answer"',
    },
    {
      breaks: 'the insert asks for no majority',
      file: 'packages/kernel/src/mongo/majority.ts',
      find: "w: 'majority'",
      replace: 'w: 1',
      run: deliverTwice,
      tells: 'concern |-> "1"',
    },
    {
      breaks: 'a settlement does not name its claim',
      file: 'packages/gateway/src/inbox/claims/held-claims.ts',
      find: "state: 'processing', leaseOwner: owner, fence }",
      replace: "state: 'processing' }",
      run: outliveLease,
      tells: 'result |-> "later", verdict |-> "kept"]',
    },
  ])('is caught: $breaks', { timeout: LONGEST_MS }, async ({ run: act, tells, ...mutation }, context) => {
    await using copy = await copySources(repository)
    const trace = await copy.withMutation(mutation, async () => {
      await using run = await startRecordedRun(copy.folder)
      await act(run)
      return run.finish()
    })
    const [first = ''] = await refusals(trace, context)
    expect(first.split('\nafter\n')[0]).toContain(tells)
  })
})
