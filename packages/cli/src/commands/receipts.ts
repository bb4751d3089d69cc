import { formatAmount } from '@oncehook/kernel/money/currencies'
import { Option } from 'commander'
import { type AddCommand, UsageError } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import {
  addOperatorAction,
  addPageAction,
  addReasonOption,
  type ReasonOptions,
  readReason,
  type Typed,
} from '../operator/operator-command.ts'
import { toPrintable, toTime } from '../output.ts'

const states = ['owed', 'sending', 'sent', 'parked'] as const

interface ListOptions {
  readonly order?: string
  readonly state?: (typeof states)[number]
}

export const addReceiptsCommands: AddCommand = (program, deps) => {
  const group = program.command('receipts').description('Inspect receipts and release parked ones.')
  const list = group
    .command('list')
    .description('List receipts by order.')
    .option('--order <id>', 'for this order')
    .addOption(new Option('--state <state>', 'in this state').choices(states))
  addPageAction(list, deps, {
    call: (client, page, { order: orderId, state }: ListOptions) =>
      client.receipts.list.query({ ...page, orderId, state }),
    none: 'No receipts',
    head: ['KEY', 'ORDER', 'PAYMENT', 'AMOUNT', 'PAID', 'STATE', 'ATTEMPTS', 'LAST ERROR', 'SENT'],
    row: (receipt) => [
      ...[receipt.key, receipt.orderId, receipt.paymentId, formatAmount(receipt.amount, receipt.currency)],
      ...[toTime(receipt.paidAt), receipt.state, receipt.attempts, receipt.lastError?.code ?? null],
      toTime(receipt.sentAt),
    ],
  })
  const release = group
    .command('release')
    .description('Send a parked receipt anyway, or all of them; customers may get them twice.')
    .argument('[key]', 'receipt key, as printed by `receipts list`')
    .option('--all', 'every parked receipt')
    .option('--dry-run', 'with --all: only count them')
  addOperatorAction(addReasonOption(release), deps, {
    async call(client, { argument: key, options }: Typed<ReasonOptions & { readonly all?: boolean }>) {
      const { all = false, dryRun = false } = options
      if (all === (key !== '')) throw new UsageError('Give the key of a receipt, or --all')
      if (dryRun && !all) throw new UsageError('--dry-run needs --all')
      const reason = await readReason(options, deps.context)
      return all ? releaseAll(client, { reason, dryRun }) : client.receipts.release.mutate({ key, reason })
    },
    describe: (answer) => {
      if ('orderId' in answer) return [`Released: the receipt for order ${toPrintable(answer.orderId)} is due now`]
      const { matched, released } = answer
      if (matched === 0) return ['No parked receipts']
      return [
        released === 0 ? `${count(matched)} would be released; nothing was changed` : `Released: ${count(released)}`,
      ]
    },
  })
}

function count(receipts: number): string {
  return receipts === 1 ? '1 receipt' : `${receipts} receipts`
}

type Part = Awaited<ReturnType<OperatorClient['receipts']['releaseAll']['mutate']>>

/** The gateway stops after some seconds. Each part has its own entry in the audit log. */
async function releaseAll(
  client: OperatorClient,
  request: { readonly reason: string; readonly dryRun: boolean },
): Promise<Omit<Part, 'next'>> {
  let total = { matched: 0, released: 0 }
  for (let after: string | null = null; ; ) {
    const { matched, released, next }: Part = await client.receipts.releaseAll.mutate({ ...request, after })
    total = { matched: Math.max(total.matched, matched), released: total.released + released }
    if (next === null) return total
    after = next
  }
}
