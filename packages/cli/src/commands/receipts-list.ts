import { formatAmount } from '@oncehook/kernel/currencies'
import { Option } from 'commander'
import { addToGroup } from '../add-to-group.ts'
import type { AddCommand } from '../command.ts'
import { addOperatorAction, type Typed } from '../operator/add-operator-action.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import { addPageOptions, describeNext, type PageOptions, toPage } from '../operator/page-options.ts'
import { toTime } from '../output.ts'
import { toTableLines } from '../table.ts'

const states = ['owed', 'sending', 'sent', 'parked'] as const

interface Options extends PageOptions {
  readonly order?: string
  readonly state?: (typeof states)[number]
}

/** `oncehook receipts list`: lists receipts with their states. */
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
