// The options of `oncehook send`.

import { type Command, Option } from 'commander'
import { UsageError } from '../command.ts'
import { addGatewayOptions, type GatewayOptions } from '../options/gateway-address.ts'
import { readPositive, readWhole } from '../options/option-values.ts'
import { addSigningOptions, type SigningOptions } from '../sign/signing-identity.ts'

export interface SendOptions extends SigningOptions, GatewayOptions {
  readonly type: string
  readonly amount?: number
  readonly order?: string
  readonly ensureOrder?: string
  readonly eventId?: string
  readonly count: number
  readonly times: number
  readonly parallel: number
  readonly rate?: number
  readonly timeout: number
  readonly json?: boolean
}

/** The maximum number of deliveries of one command, because it keeps them in memory. */
const maxDeliveries = 100_000
const maxParallel = 256

const exits = `
Exits with 0 if the expected effect was seen: the order is paid by this payment or shows its failure; for an unhandled type,
the delivery got 200 and the order is unchanged. Exits with 1 if the delivery was refused or failed, and with 2 for wrong usage.`

export function addSendOptions(command: Command): Command {
  command
    .option('--type <type>', 'event type: succeeded, failed, or the full name of any type', 'succeeded')
    .option('--amount <n>', 'amount in minor units (default: that of the order, 1999 for a new one)', readWhole(0))
    .option('--order <id>', 'pay this existing order (default: create an order)')
    .addOption(
      new Option('--ensure-order <id>', 'pay this order; create it first if it does not exist').conflicts('order'),
    )
    .option('--event-id <id>', 'event id; if you send the same id again, it is the same event')
    .option('--count <n>', 'number of payments, one order each', readWhole(1, maxDeliveries), 1)
    .option('--times <n>', 'number of times to deliver each event', readWhole(1, maxDeliveries), 1)
    .option('--parallel <n>', 'at most n concurrent deliveries', readWhole(1, maxParallel), 1)
    .option('--rate <n>', 'start n deliveries per second', readPositive)
    .option('--timeout <seconds>', 'how long to wait for the effect', readPositive, 10)
    .option('--json', 'print one JSON document and nothing else')
  return addGatewayOptions(addSigningOptions(command)).addHelpText('after', exits)
}

/** @throws UsageError if options conflict */
export function checkSendOptions(options: SendOptions): void {
  const { count, times } = options
  const single = (['order', 'ensureOrder', 'eventId'] as const).some((name) => options[name] !== undefined)
  if (count > 1 && single) throw new UsageError('--count creates orders and events: do not give their ids')
  if (count * times > maxDeliveries) throw new UsageError(`That is more than ${maxDeliveries} deliveries`)
}
