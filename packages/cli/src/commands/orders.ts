// `oncehook orders`: shows an order, and corrects what it costs if its payment does not fit.

import { formatAmount } from '@oncehook/kernel/money/currencies'
import { InvalidArgumentError } from 'commander'
import { type AddCommand, UsageError } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import {
  addOperatorAction,
  addReasonOption,
  type ReasonOptions,
  readReason,
  type Typed,
} from '../operator/operator-command.ts'
import { readWhole } from '../options/option-values.ts'
import { toPrintable, toTime } from '../output.ts'

type Order = Awaited<ReturnType<OperatorClient['orders']['get']['query']>>

type Item = Order['items'][number]

interface CorrectOptions extends ReasonOptions {
  readonly ifVersion?: number
  readonly currency?: string
  readonly item?: readonly Item[]
}

export const addOrdersCommands: AddCommand = (program, deps) => {
  const group = program.command('orders').description('Show an order and correct what it costs.')
  const show = group.command('show').description('Show what an order costs, and whether it is paid.')
  addOperatorAction(show.argument('<id>', 'order id'), deps, {
    call: (client, { argument: id }) => client.orders.get.query({ id }),
    describe,
  })
  const correct = group
    .command('correct')
    .description('Correct what an unpaid order costs; needs the role `orders`. Then replay the event that did not fit.')
    .argument('<id>', 'order id')
    .option('--if-version <n>', 'only if the order has this version, as printed by `orders show`', readWhole(1))
    .option('--currency <code>', 'its currency, such as EUR')
    .option(
      '--item <item>',
      'one of its items: <quantity>x<unit amount>:<sku>; give all, each with --item',
      collectItem,
    )
  addOperatorAction(addReasonOption(correct), deps, {
    async call(client, { argument: id, options }: Typed<CorrectOptions>) {
      const { ifVersion: version, currency, item: items } = options
      if (version === undefined) throw new UsageError('Give the version that you have seen: --if-version')
      if (currency === undefined && items === undefined)
        throw new UsageError('Give --currency, or each --item, or both')
      return client.orders.correct.mutate({
        ...{ id, version, currency, items: items && [...items] },
        reason: await readReason(options, deps.context),
      })
    },
    describe: ({ before, order: { id, version, amountDue, currency } }) => [
      `Corrected: order ${toPrintable(id)} costs ${formatAmount(amountDue, currency)}, version ${version}`,
      `Before: ${formatAmount(before.amountDue, before.currency)}`,
    ],
  })
}

function describe({ id, version, status, access, amountDue, currency, items, payment, updatedAt }: Order): string[] {
  const lines: (readonly [name: string, value: string])[] = [
    ['Order', id],
    ['Version', String(version)],
    ['Status', status],
    ['Access', access],
    ['Amount due', formatAmount(amountDue, currency)],
    ...items.map(({ sku, quantity, unitAmount }) => ['Item', `${quantity} × ${unitAmount} ${sku}`] as const),
    ['Payment', payment === null ? 'none' : `${payment.id} of ${payment.provider}: ${payment.status}`],
    ['Changed', toTime(updatedAt)],
  ]
  return lines.map(([name, value]) => `${name.padEnd(12)}${toPrintable(value)}`)
}

const ITEM = /^(\d{1,15})x(\d{1,15}):(.+)$/s

/** Parses an item and adds it to the previous ones. The amount is in minor units. */
function collectItem(text: string, before: readonly Item[] = []): Item[] {
  const [, quantity, unitAmount, sku] = ITEM.exec(text) ?? []
  if (sku === undefined)
    throw new InvalidArgumentError('Must be an item such as 2x1999:book, the amount in minor units.')
  return [...before, { sku, quantity: Number(quantity), unitAmount: Number(unitAmount) }]
}
