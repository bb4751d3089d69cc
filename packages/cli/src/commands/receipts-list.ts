import { formatAmount } from '@oncehook/kernel/currencies'
import { Option } from 'commander'
import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import { commandGroup } from '../command-group.ts'
import { connectOperator } from '../operator/connect-operator.ts'
import { ask, type OperatorClient } from '../operator/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../operator/operator-options.ts'
import { addPageOptions, describeNext, type PageOptions, toPage } from '../operator/page-options.ts'
import { toTime, writeJson, writeLines } from '../output.ts'
import { toTableLines } from '../table.ts'

const states = ['owed', 'sending', 'sent', 'parked'] as const

interface Options extends OperatorOptions, PageOptions {
  readonly order?: string
  readonly state?: (typeof states)[number]
}

/** `oncehook receipts list`: lists receipts with their states. */
export const addReceiptsListCommand: AddCommand = (program, { context, finish }) => {
  const command = commandGroup(program, 'receipts', 'Inspect receipts and release parked ones.')
    .command('list')
    .description('List receipts by order.')
    .option('--order <id>', 'for this order')
    .addOption(new Option('--state <state>', 'in this state').choices(states))
    .action(async (options: Options) => {
      await listReceipts(options, context)
      finish(0)
    })
  addOperatorOptions(addPageOptions(command))
}

async function listReceipts(options: Options, context: CliContext): Promise<void> {
  const client = await connectOperator(options, context)
  const { order, state } = options
  const page = await ask(
    client.receipts.list.query({
      ...toPage(options),
      ...(order === undefined ? {} : { orderId: order }),
      ...(state === undefined ? {} : { state }),
    }),
  )
  if (options.json) return writeJson(context, page)
  writeLines(context, page.items.length === 0 ? ['No receipts'] : describe(page))
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
