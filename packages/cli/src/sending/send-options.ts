import { type Corruption, corruptions } from '@oncehook/simulator/corruption'
import { type Arrival, arrivals } from '@oncehook/simulator/schedule'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { UsageError } from '../exit-code.ts'
import { addGatewayOptions, type GatewayOptions } from '../gateway-address.ts'
import { readList, readPositive, readWhole } from '../option-values.ts'
import { addSigningOptions, type SigningOptions } from '../signing-identity.ts'
import { batchLimits, mostInBatch } from './check-batch.ts'

/** The options of `oncehook send`, as commander gives them. */
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
  /** `true` without a number. */
  readonly parallel?: number | true
  readonly rate?: number
  readonly corrupt?: Corruption
  readonly skew: number
  readonly timeout: number
  readonly json?: boolean
}

/** The most deliveries of one event, and connections, of one command: it keeps them all in memory. */
const maxDeliveries = 100_000
/** The most deliveries on their way at once. */
export const maxParallel = 256

const exits = `
Exits with 0 when the effect was seen: the order paid by this payment (or showing its failure), or, for a type that nothing
handles, accepted with 200 and the order unchanged. Exits with 1 when it was refused or failed, so also when a delivery
was spoiled and refused as it should be; with 2 when the options are wrong.`

/** Gives a command the options of `oncehook send`. */
export function addSendOptions(command: Command): Command {
  command
    .option('--type <type>', 'what to tell: succeeded (default), failed, or the full name of any type')
    .option('--sequence <types>', 'several events about one payment, in this order, such as failed,succeeded', readList)
    .option(
      '--amount <n>',
      'minor units that the event names (default: what the order costs; a new one 1999)',
      readWhole(0),
    )
    .option('--currency <code>', 'the same for the currency (a new order: EUR)', readCurrency)
    .option('--order <id>', 'pay this order, which exists (default: make a new one)')
    .option('--ensure-order <id>', 'pay this order; make it first when it does not exist')
    .option('--event-id <id>', 'the id of the event: sent again, it is the same event')
    .option('--payment-id <id>', 'the id of the payment it tells of (default: made from the id of the event)')
    .option('--count <n>', 'so many payments, each with an order of its own', readWhole(1, maxDeliveries), 1)
    .option('--times <n>', 'deliver every event so often', readWhole(1, maxDeliveries), 1)
  command
    .option(
      '--batch <n>',
      `put n events into each delivery; the other options repeat, reorder and pace whole deliveries. For ${batchLimits}`,
      readWhole(1, mostInBatch),
      1,
    )
    .addOption(new Option('--order-of-arrival <how>', 'how the events arrive').choices(arrivals).default('given'))
    .option(
      '--parallel [n]',
      `have up to n deliveries on their way at once (without n: ${maxParallel})`,
      readWhole(1, maxParallel),
    )
    .option('--rate <n>', 'begin n deliveries a second', readPositive)
    .addOption(new Option('--corrupt <what>', 'spoil one thing; it ought to be refused').choices(corruptions))
    .option('--skew <seconds>', 'sign by a clock that is wrong by so much', readWhole(-1_000_000_000), 0)
    .option('--timeout <seconds>', 'how long to wait for the effect', readPositive, 10)
    .option('--json', 'print one JSON document and nothing else')
  return addGatewayOptions(addSigningOptions(command)).addHelpText('after', exits)
}

/** @throws UsageError when two options cannot be meant together */
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
    throw new UsageError('--count makes orders, events and payments of its own: name none of them')
  }
  if (count * times * sequence.length > maxDeliveries) {
    throw new UsageError(`That would be more than ${maxDeliveries} deliveries, each of one event`)
  }
}

function readCurrency(text: string): string {
  const code = text.toUpperCase()
  if (/^[A-Z]{3}$/.test(code)) return code
  throw new InvalidArgumentError('It is a code of three letters, such as EUR.')
}
