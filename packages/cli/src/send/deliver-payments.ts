import { toBatches } from '@oncehook/simulator/batches'
import {
  createPaymentProvider,
  type Message,
  type Pace,
  type PaymentProvider,
} from '@oncehook/simulator/payment-provider'
import { arrange } from '@oncehook/simulator/schedule'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import type { CliContext } from '../cli-context.ts'
import type { SigningIdentity } from '../sign/signing-identity.ts'
import type { PlannedPayment } from './plan-payment.ts'
import { maxParallel, type SendOptions } from './send-options.ts'
import type { Delivered } from './send-run.ts'

/** The sender, the URL and the payments. */
export interface DeliveryPlan {
  readonly identity: SigningIdentity
  readonly url: string
  readonly payments: readonly PlannedPayment[]
}

/**
 * Delivers every event of every payment, with the repetitions, order and pace of the options.
 * @throws SigningError if signing fails
 */
export async function deliverPayments(
  { identity, url, payments }: DeliveryPlan,
  options: SendOptions,
  { fetch, now, sleep, random }: CliContext,
): Promise<Delivered[]> {
  const { signer, secret, settings } = identity
  const provider = createPaymentProvider(
    { fetch, now, sleep },
    { url, signer, secret, settings, skewMs: options.skew * 1000 },
  )
  const arriving = arrange(writeDeliveries(provider, payments, options), {
    times: options.times,
    arrival: options.orderOfArrival,
    random,
  })
  const messages = arriving.map(({ message }) => message)
  const reports = await provider.deliverAll(messages, toPace(options), options.tamper)
  return arriving.flatMap(({ events }, index) => {
    const report = reports[index]
    return report ? [{ ...report, events }] : []
  })
}

interface WrittenDelivery {
  readonly events: readonly PaymentEvent[]
  readonly message: Message
}

function writeDeliveries(
  provider: PaymentProvider,
  payments: readonly PlannedPayment[],
  { batch }: SendOptions,
): WrittenDelivery[] {
  const all = payments.flatMap(({ events }) => events)
  if (batch === 1) return all.map((event) => ({ events: [event], message: provider.write(event) }))
  return toBatches(all, batch).map((events) => ({ events, message: provider.writeBatch(events) }))
}

/** A rate does not depend on the response times, so it allows the maximum number of concurrent deliveries. */
function toPace({ parallel, rate }: SendOptions): Pace {
  if (rate === undefined) return { parallel: parallel === true ? maxParallel : (parallel ?? 1) }
  return { parallel: typeof parallel === 'number' ? parallel : maxParallel, perSecond: rate }
}
