import { randomUUID } from 'node:crypto'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PaymentProvider } from '@oncehook/simulator/payment-provider'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import type { Trace } from '../../../scripts/model/check-trace.ts'
import { createOrders } from '../load/mixed-load.ts'
import { callOperator } from '../stack/operator-call.ts'
import { startSecondGateway } from '../stack/second-gateway.ts'
import type { ServiceUnderTest } from '../stack/service-under-test.ts'
import { paymentOf, type Stack, startStack } from '../stack/stack.ts'
import { until } from '../until.ts'
import { type RecordedLine, readRecording, toLine } from './recorded-line.ts'
import { type EventName, type RecordedPayment, writeTrace } from './write-trace.ts'

// A claim lasts 10 s longer, for the call. No process of a busy machine sleeps through that by chance.
const LEASE_MS = 2_000

/** A gateway of a recorded run, and a provider that delivers to it. */
interface RecordedGateway {
  readonly service: ServiceUnderTest
  readonly provider: PaymentProvider
}

/** Fulfilment and two gateways as real processes, which record their steps. */
export interface RecordedRun extends AsyncDisposable {
  readonly stack: Stack
  readonly gateways: readonly [RecordedGateway, RecordedGateway]
  /** Makes orders, and for each of them one or two events that say it is paid. Their ids begin with `prefix`. */
  makePayments(orders: number, eventsEach: 1 | 2, prefix?: string): Promise<PaymentEvent[]>
  /** Makes payments that each are for two orders: an event about either order. */
  makeSharedPayments(count: number): Promise<PaymentEvent[]>
  /** An operator replays an event, whatever its state. */
  replay(event: PaymentEvent): Promise<void>
  /** Kills a gateway and records its death. */
  kill(gateway: RecordedGateway): Promise<void>
  /** Waits for a line of the recording, and returns the first. */
  untilRecorded(isWanted: (line: RecordedLine) => boolean): Promise<RecordedLine>
  /** Waits until all events are settled, and returns the recording, and the same in the words of the model. */
  finish(): Promise<{ readonly lines: readonly RecordedLine[]; readonly trace: Trace }>
}

/** Starts a run. */
export async function startRecordedRun(): Promise<RecordedRun> {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-steps-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const file = join(folder, 'steps.jsonl')
  const script = join(import.meta.dirname, 'recorded-gateway.ts')
  const settings = { STEPS_FILE: file, LEASE_MS: String(LEASE_MS) }
  const fulfilmentScript = join(import.meta.dirname, 'recorded-fulfilment.ts')
  const fulfilment = { STEPS_FILE: file }
  const stack = resources.use(
    await startStack({ gateway: settings, gatewayScript: script, fulfilment, fulfilmentScript }),
  )
  const second = resources.use(await startSecondGateway(stack, settings, script))
  const payments: NamedEvent[][] = []
  let replays = 0
  const owned = resources.move()
  return {
    stack,
    gateways: [
      { service: stack.gateway, provider: stack.provider('acme') },
      { service: second.gateway, provider: second.provider },
    ],
    async makePayments(orders, eventsEach, prefix = 'evt_') {
      const made = await createOrders(stack, orders)
      const events = made.map((order) =>
        Array.from({ length: eventsEach }, () => paymentOf(order, { id: `${prefix}${randomUUID()}` })),
      )
      payments.push(...events.map(([first, second]) => namedEvents({ e1: first, e2: second })))
      return events.flat()
    },
    async makeSharedPayments(count) {
      const made = await createOrders(stack, 2 * count)
      const events = made.map((order, index) => paymentOf(order, { paymentId: `pay_${made[index - (index % 2)]?.id}` }))
      for (let place = 0; place < events.length; place += 2) {
        payments.push(namedEvents({ e1: events[place], e3: events[place + 1] }))
      }
      return events
    },
    async replay({ id }) {
      const record = await stack.events.findOne({ eventId: id })
      replays += 1
      const step = { by: process.pid, id: replays }
      const events = [{ id }]
      await appendFile(file, toLine({ ...step, step: 'replay', begun: { events } }))
      const asked = { ids: [String(record?._id)], reason: 'a test', includeDone: true }
      const { replayId } = (await callOperator(stack, 'events.replay', asked)) as { readonly replayId: string }
      const input = encodeURIComponent(JSON.stringify({ replayId }))
      const progress = (): Promise<unknown> => callOperator(stack, `replays.get?input=${input}`, undefined)
      await until(progress, (found) => (found as { readonly started: number }).started === 1)
      await appendFile(file, toLine({ ...step, ended: { events } }))
    },
    async kill({ service }) {
      const { pid } = service
      await service.kill('SIGKILL')
      await appendFile(file, toLine({ by: pid, id: 0, step: 'crash' }))
    },
    async untilRecorded(isWanted) {
      const find = async (): Promise<RecordedLine | undefined> => (await readRecording(file)).find(isWanted)
      const found = await until(find, (line) => line !== undefined)
      if (found === undefined) throw new Error('There is no such line')
      return found
    },
    async finish() {
      await stack.untilSettled()
      const lines = await readRecording(file)
      return { lines, trace: writeTrace(lines, await readPayments(stack, payments)) }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

interface NamedEvent {
  readonly id: string
  readonly name: EventName
}

function namedEvents(events: Partial<Record<EventName, PaymentEvent | undefined>>): NamedEvent[] {
  return Object.entries(events).flatMap(([name, event]) => (event ? [{ id: event.id, name: name as EventName }] : []))
}

async function readPayments(
  { events }: Stack,
  payments: readonly (readonly NamedEvent[])[],
): Promise<RecordedPayment[]> {
  const fields = { _id: 0, eventId: 1, state: 1, starts: 1 } as const
  const found = await events.find().project<{ eventId: string; state: string; starts: number }>(fields).toArray()
  const records = new Map(found.map(({ eventId, state, starts }) => [eventId, { id: eventId, state, starts }]))
  return payments.map((own) => ({
    events: own.map(({ id, name }) => ({ name, ...(records.get(id) ?? { id, state: 'absent', starts: 0 }) })),
  }))
}

/** Delivers an event again and again until it is answered with 200. */
export async function deliverUntilAccepted(provider: PaymentProvider, event: PaymentEvent): Promise<void> {
  await until(
    async () => (await provider.deliver(provider.write(event))).status,
    (status) => status === 200,
  )
}
