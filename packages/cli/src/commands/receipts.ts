import { formatAmount } from '@oncehook/kernel/money/currencies'
import { Option } from 'commander'
import { type AddCommand, addToGroup } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import {
  addOperatorAction,
  addPageOptions,
  describeNext,
  type PageOptions,
  reasonedCommand,
  type Typed,
  toPage,
} from '../operator/operator-command.ts'
import { toPrintable, toTableLines, toTime } from '../output.ts'

const states = ['owed', 'sending', 'sent', 'parked'] as const

interface Options extends PageOptions {
  readonly order?: string
  readonly state?: (typeof states)[number]
}

export const addReceiptsListCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'receipts', 'list')
    .description('List receipts by order.')
    .option('--order <id>', 'for this order')
    .addOption(new Option('--state <state>', 'in this state').choices(states))
  addOperatorAction(addPageOptions(command), deps, {
    call: (client, { options }: Typed<Options>) => client.receipts.list.query(toQuery(options)),
    describe: (page) => (page.items.length === 0 ? ['No receipts'] : describe(page)),
  })
}

function toQuery({ order, state, ...page }: Options) {
  return {
    ...toPage(page),
    ...(order === undefined ? {} : { orderId: order }),
    ...(state === undefined ? {} : { state }),
  }
}

const HEAD = ['KEY', 'ORDER', 'PAYMENT', 'AMOUNT', 'PAID', 'STATE', 'ATTEMPTS', 'LAST ERROR', 'SENT']

function describe({ items, next }: Awaited<ReturnType<OperatorClient['receipts']['list']['query']>>): string[] {
  const rows = items.map((receipt) => [
    ...[receipt.key, receipt.orderId, receipt.paymentId, formatAmount(receipt.amount, receipt.currency)],
    ...[toTime(receipt.paidAt), receipt.state, receipt.attempts, receipt.lastError?.code ?? null],
    toTime(receipt.sentAt),
  ])
  return [...toTableLines(HEAD, rows), ...describeNext(next)]
}

export const addReceiptsReleaseCommand = reasonedCommand(['receipts', 'release'], {
  description: 'Send a parked receipt anyway; the customer may get it twice.',
  argument: ['<key>', 'receipt key, as printed by `receipts list`'],
  call: (client, { argument: key, reason }) => client.receipts.release.mutate({ key, reason }),
  describe: ({ orderId }) => [`Released: the receipt for order ${toPrintable(orderId)} is due now`],
})
