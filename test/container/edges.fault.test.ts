import type { DeliveryReport } from '@oncehook/simulator/payment-provider'
import { describe, expect, it, type TestContext } from 'vitest'
import type { ContainerStack } from '../support/containers/container-stack.ts'
import type { Edge, Trouble } from '../support/containers/edge-proxy.ts'
import { type SharedStack, shareStack } from '../support/containers/share-stack.ts'
import { createOrdersAfterFault } from '../support/load/mixed-load.ts'
import type { SentEvent } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { paymentOf } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const PAYMENTS = 5
const LATENCY = { latencyMs: 300 }
/** Bodies with this much trailing whitespace take a while at a few KB per second. */
const PADDING_BYTES = 6_000
const shared = shareStack({
  gateways: 1,
  fulfilments: 1,
  mongoNodes: 1,
  source: { perSecond: 50, paddingBytes: PADDING_BYTES },
})

/** Payments of new orders, which the source will deliver when it runs. */
async function addPayments({ stack, source }: SharedStack, count: number): Promise<SentEvent[]> {
  const known = new Set(source.log)
  for (const order of await createOrdersAfterFault(stack, count)) source.add(paymentOf(order))
  return source.log.filter((sent) => !known.has(sent))
}

/** The observations of a row while the edge is in trouble. */
interface Sight {
  readonly stack: ContainerStack
  readonly ids: readonly string[]
  /** The answers to one delivery of each payment. */
  readonly reports: readonly DeliveryReport[]
}

interface Row {
  readonly edge: Edge
  readonly trouble: Trouble
  /** How long the provider waits for an answer. */
  readonly patienceMs?: number
  readonly look: (sight: Sight) => Promise<void>
}

/** Delivers during the trouble, looks, ends the trouble, redelivers as providers do, and expects one effect of each. */
async function endure(context: TestContext, { edge, trouble, patienceMs = 10_000, look }: Row): Promise<void> {
  const both = await shared(context)
  const { stack, source } = both
  await addPayments(both, 1)
  await source.run() // reconnect after the previous row
  const sent = await addPayments(both, PAYMENTS)
  const provider = stack.provider({ timeoutMs: patienceMs })
  {
    await using _ = await stack.trouble(edge, trouble)
    const reports = await Promise.all(sent.map(({ message }) => provider.deliver(message)))
    await look({ stack, ids: sent.map(({ event }) => event.id), reports })
  }
  await source.run()
  await stack.untilSettled()
  expect(await closingCheck(stack, source.log, { struck: { [edge]: sent.length }, volume: PAYMENTS })).toEqual([])
}

const statuses = (reports: readonly DeliveryReport[]) => reports.map(({ status }) => status)
const all = <T>(value: T): T[] => Array(PAYMENTS).fill(value)

/** Expects that each delivery is answered with this status, or not at all if it is null. */
const answered =
  (status: number | null): Row['look'] =>
  async ({ reports }) =>
    expect(statuses(reports)).toEqual(all(status))

/** Expects that all are accepted, none of them sooner than this. */
const acceptedAfter =
  (ms: number): Row['look'] =>
  async (sight) => {
    await answered(200)(sight)
    expect(Math.min(...sight.reports.map((report) => report.ms))).toBeGreaterThanOrEqual(ms)
  }

/** Expects that the provider notices nothing, and that a call to fulfilment ends as given. */
async function expectTries(sight: Sight, tries: object): Promise<void> {
  const { stack, ids } = sight
  await answered(200)(sight)
  await until(
    () => stack.events.countDocuments({ eventId: { $in: [...ids] }, attempts: { $elemMatch: tries } }),
    (count) => count > 0,
  )
}

async function paid({ stack, ids }: Sight): Promise<number> {
  return stack.orderRecords.countDocuments({ 'applied.eventId': { $in: [...ids] } })
}

describe('trouble between provider and gateway:', () => {
  const edge = 'provider-gateway'

  it('latency delays the answer and nothing else', async (context) => {
    await endure(context, { edge, trouble: LATENCY, look: acceptedAfter(LATENCY.latencyMs) })
  })

  it('a cut means no answer; the next delivery is taken', async (context) => {
    await endure(context, { edge, trouble: 'cut', look: answered(null) })
  })

  it('half-open: a delivery stored without an answer is a duplicate when repeated: 200, one record', async (context) => {
    const look = async ({ stack, ids, reports }: Sight) => {
      expect(reports.map(({ failure }) => failure)).toEqual(all('timeout'))
      await until(
        () => stack.events.countDocuments({ eventId: { $in: [...ids] } }),
        (count) => count === PAYMENTS,
      )
    }
    await endure(context, { edge, trouble: 'half-open', patienceMs: 2_000, look })
    const { stack, source } = await shared(context)
    const ids = source.log.slice(-PAYMENTS).map(({ event }) => event.id)
    const repeated = { eventId: { $in: ids }, deliveries: 2 }
    await until(
      () => stack.events.countDocuments(repeated),
      (count) => count === PAYMENTS,
    )
  })

  it('a slow line: bodies that take a second and more to arrive are taken', async (context) => {
    await endure(context, { edge, trouble: { slowKBs: 4 }, look: acceptedAfter(1_000) })
  })
})

describe('trouble between gateway and MongoDB:', () => {
  const edge = 'gateway-mongo'

  it('latency is added to the answer', async (context) => {
    await endure(context, { edge, trouble: LATENCY, look: acceptedAfter(LATENCY.latencyMs) })
  })

  it('a cut is answered 500, never 200; the next delivery is taken', async (context) => {
    await endure(context, { edge, trouble: 'cut', look: answered(500) })
  })

  it('half-open: a delivery stored but not confirmed is answered 500 within 10 s, and 200 when repeated', async (context) => {
    const look = async ({ stack, ids, reports }: Sight) => {
      expect(statuses(reports)).toEqual(all(500))
      expect(await stack.events.countDocuments({ eventId: { $in: [...ids] } }), 'stored').toBeGreaterThan(0)
    }
    await endure(context, { edge, trouble: 'half-open', patienceMs: 12_000, look })
  })

  it('a slow line: the answer waits until all is stored', async (context) => {
    await endure(context, { edge, trouble: { slowKBs: 12 }, look: acceptedAfter(500) })
  })
})

describe.each([
  {
    between: 'gateway and fulfilment',
    edge: 'gateway-fulfilment',
    slowKBs: 1,
    givesUpAfterMs: 9_500,
    paidDuringCut: PAYMENTS,
  },
  { between: 'fulfilment and MongoDB', edge: 'fulfilment-mongo', slowKBs: 2, givesUpAfterMs: 1_000, paidDuringCut: 0 },
] as const)('trouble between $between:', ({ edge, slowKBs, givesUpAfterMs, paidDuringCut }) => {
  it('latency makes effects later', async (context) => {
    const look = (sight: Sight) => expectTries(sight, { outcome: 'applied', ms: { $gte: LATENCY.latencyMs } })
    await endure(context, { edge, trouble: LATENCY, look })
  })

  it('a cut does not affect the provider: events wait and are applied when the connection is back', async (context) => {
    const look = async (sight: Sight) => {
      await expectTries(sight, { code: 'unavailable' })
      // The connection is reset when it is used: a call may arrive and have its effect, but its answer never does.
      expect(await paid(sight)).toBeLessThanOrEqual(paidDuringCut)
    }
    await endure(context, { edge, trouble: 'cut', look })
  })

  it(`half-open: a call is given up after ${givesUpAfterMs} ms or later, and repeated`, async (context) => {
    const look = (sight: Sight) => expectTries(sight, { code: 'unavailable', ms: { $gte: givesUpAfterMs } })
    await endure(context, { edge, trouble: 'half-open', look })
  })

  it('a slow line makes effects later', async (context) => {
    const look = (sight: Sight) => expectTries(sight, { outcome: 'applied', ms: { $gte: 300 } })
    await endure(context, { edge, trouble: { slowKBs }, look })
  })
})
