// The options of `oncehook send`, and how many events one delivery of a scheme may contain.

import { type Arrival, arrivals } from '@oncehook/simulator/schedule'
import { type TamperedPart, tamperedParts } from '@oncehook/simulator/tampering'
import { signers } from '@oncehook/webhooks/signing/signers'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { UsageError } from '../command.ts'
import { addGatewayOptions, type GatewayOptions } from '../options/gateway-address.ts'
import { readList, readPositive, readWhole } from '../options/option-values.ts'
import { addSigningOptions, type SigningIdentity, type SigningOptions } from '../sign/signing-identity.ts'

/** The options of `oncehook send`, as parsed by commander. */
export interface SendOptions extends SigningOptions, GatewayOptions {
  readonly type?: string
  readonly sequence?: readonly string[]
  readonly amount?: number
  readonly currency?: string
  readonly order?: string
  readonly ensureOrder?: string
  readonly eventId?: string
  readonly paymentId?: string
  readonly count: number
  readonly times: number
  /** Events in each delivery. */
  readonly batch: number
  readonly orderOfArrival: Arrival
  /** `true` if given without a number. */
  readonly parallel?: number | true
  readonly rate?: number
  readonly tamper?: TamperedPart
  readonly skew: number
  readonly timeout: number
  readonly json?: boolean
}

/** The maximum number of single-event deliveries of one command, because it keeps them in memory. */
const maxDeliveries = 100_000
/** The maximum number of concurrent deliveries. */
export const maxParallel = 256

const exits = `
Exits with 0 if the expected effect was seen: the order is paid by this payment or shows its failure; for an unhandled type,
the delivery got 200 and the order is unchanged. Exits with 1 if the delivery was refused or failed. A tampered delivery
that is correctly refused also exits with 1. Exits with 2 for wrong usage.`

export function addSendOptions(command: Command): Command {
  command
    .option('--type <type>', 'event type: succeeded (default), failed, or the full name of any type')
    .option('--sequence <types>', 'several events about one payment, in this order, such as failed,succeeded', readList)
    .option(
      '--amount <n>',
      'amount in minor units (default: the amount of the order, 1999 for a new order)',
      readWhole(0),
    )
    .option('--currency <code>', 'currency (default: the currency of the order, EUR for a new order)', readCurrency)
    .option('--order <id>', 'pay this existing order (default: create an order)')
    .option('--ensure-order <id>', 'pay this order; create it first if it does not exist')
    .option('--event-id <id>', 'event id; if you send the same id again, it is the same event')
    .option('--payment-id <id>', 'payment id (default: derived from the event id)')
    .option('--count <n>', 'number of payments, one order each', readWhole(1, maxDeliveries), 1)
    .option('--times <n>', 'number of times to deliver each event', readWhole(1, maxDeliveries), 1)
  command
    .option(
      '--batch <n>',
      `put n events into each delivery; other options apply to whole deliveries. For ${batchLimits}`,
      readWhole(1, mostInBatch),
      1,
    )
    .addOption(
      new Option('--order-of-arrival <how>', 'order in which the events arrive').choices(arrivals).default('given'),
    )
    .option('--parallel [n]', `at most n concurrent deliveries (without n: ${maxParallel})`, readWhole(1, maxParallel))
    .option('--rate <n>', 'start n deliveries per second', readPositive)
    .addOption(
      new Option('--tamper <what>', 'tamper with one part; the delivery should be refused').choices(tamperedParts),
    )
    .option('--skew <seconds>', 'sign with a clock that is wrong by this much', readWhole(-1_000_000_000), 0)
    .option('--timeout <seconds>', 'how long to wait for the effect', readPositive, 10)
    .option('--json', 'print one JSON document and nothing else')
  return addGatewayOptions(addSigningOptions(command)).addHelpText('after', exits)
}

/** @throws UsageError if options conflict */
export function checkSendOptions(options: SendOptions): void {
  const { count, times, sequence = [''] } = options
  if (options.type !== undefined && options.sequence !== undefined) {
    throw new UsageError('Give --type or --sequence, not both')
  }
  if (options.order !== undefined && options.ensureOrder !== undefined) {
    throw new UsageError('Give --order or --ensure-order, not both')
  }
  const single = (['order', 'ensureOrder', 'eventId', 'paymentId'] as const).find((name) => options[name] !== undefined)
  if (count > 1 && single !== undefined) {
    throw new UsageError('--count creates orders, events and payments: do not give their ids')
  }
  if (count * times * sequence.length > maxDeliveries) {
    throw new UsageError(`That is more than ${maxDeliveries} single-event deliveries`)
  }
}

function readCurrency(text: string): string {
  const code = text.toUpperCase()
  if (/^[A-Z]{3}$/.test(code)) return code
  throw new InvalidArgumentError('Must be a three-letter code such as EUR.')
}

const limits = [...signers].flatMap(([scheme, { batch }]) => (batch ? [[scheme, batch.most] as const] : []))

/** The largest batch of any scheme. */
const mostInBatch = Math.max(...limits.map(([, most]) => most))

/** The schemes that support batches, with their limits, as text. */
const batchLimits = limits.map(([scheme, most]) => `${scheme} (at most ${most})`).join(', ')

/** @throws UsageError if a delivery of the scheme cannot contain `batch` events */
export function checkBatch({ scheme, signer }: Pick<SigningIdentity, 'scheme' | 'signer'>, batch: number): void {
  const most = signer.batch?.most ?? 1
  if (batch <= most) return
  const has = most === 1 ? 'one event' : `at most ${most} events`
  throw new UsageError(`A delivery of ${scheme} contains ${has}; --batch works with ${batchLimits}`)
}
