import { randomUUID } from 'node:crypto'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PaymentProvider } from '@oncehook/simulator/payment-provider'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import type { Trace } from '../../../scripts/model/check-trace.ts'
import { createOrders } from '../load/mixed-load.ts'
import { startSecondGateway } from '../stack/second-gateway.ts'
import type { ServiceUnderTest } from '../stack/service-under-test.ts'
import { paymentOf, type Stack, startStack } from '../stack/stack.ts'
import { until } from '../until.ts'
import { type RecordedLine, readRecording, toLine } from './recorded-line.ts'
import { type RecordedOrder, writeTrace } from './write-trace.ts'

// Long enough that no process of a busy machine sleeps through it by chance.
const LEASE_MS = 8_000

/** A gateway of a recorded run, and a provider that delivers to it. */
interface RecordedGateway {
  readonly service: ServiceUnderTest
  readonly provider: PaymentProvider
}

/** Fulfilment and two gateways as real processes, which record their steps. */
export interface RecordedRun extends AsyncDisposable {
  readonly stack: Stack
  readonly gateways: readonly [RecordedGateway, RecordedGateway]
  /** Makes orders, and for each of them as many events that say it is paid. Their ids begin with `prefix`. */
  makePayments(orders: number, eventsEach: number, prefix?: string): Promise<PaymentEvent[]>
  /** Kills a gateway and records its death. */
  kill(gateway: RecordedGateway): Promise<void>
  /** Waits for a line of the recording, and returns the first. */
  untilRecorded(isWanted: (line: RecordedLine) => boolean): Promise<RecordedLine>
  /** Waits until all events are settled, and returns the recording, and the same in the words of the model. */
  finish(): Promise<{ readonly lines: readonly RecordedLine[]; readonly trace: Trace }>
}

/** What runs. */
export interface RunOptions {
  /** The folder of the repository, or of a copy of it. */
  readonly sources: string
  /** `PAYMENT_GUARD`. */
  readonly guard: 'index' | 'reservation'
}

/** Starts a run. */
export async function startRecordedRun({ sources, guard }: RunOptions): Promise<RecordedRun> {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-steps-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const file = join(folder, 'steps.jsonl')
  const script = join(sources, 'test/support/model/recorded-gateway.ts')
  // A call carries one event, as in the model.
  const settings = { STEPS_FILE: file, LEASE_MS: String(LEASE_MS), DISPATCH_BATCH: '1' }
  const fulfilmentScript = join(sources, 'test/support/model/recorded-fulfilment.ts')
  const fulfilment = { STEPS_FILE: file, PAYMENT_GUARD: guard }
  const stack = resources.use(
    await startStack({ gateway: settings, gatewayScript: script, fulfilment, fulfilmentScript }),
  )
  const second = resources.use(await startSecondGateway(stack, settings, script))
  const payments: PaymentEvent[][] = []
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
      payments.push(...events)
      return events.flat()
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
      return { lines, trace: writeTrace(lines, { guard, orders: await readOrders(stack, payments) }) }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function readOrders({ events }: Stack, payments: readonly PaymentEvent[][]): Promise<RecordedOrder[]> {
  const fields = { _id: 0, eventId: 1, state: 1, fence: 1 } as const
  const found = await events.find().project<{ eventId: string; state: string; fence: number }>(fields).toArray()
  const records = new Map(found.map(({ eventId, state, fence }) => [eventId, { id: eventId, state, fence }]))
  return payments.map((ofOrder) => ({
    events: ofOrder.map(({ id }) => records.get(id) ?? { id, state: 'absent', fence: 0 }),
  }))
}

/** Delivers an event again and again until it is answered with 200. */
export async function deliverUntilAccepted(provider: PaymentProvider, event: PaymentEvent): Promise<void> {
  await until(
    async () => (await provider.deliver(provider.write(event))).status,
    (status) => status === 200,
  )
}
