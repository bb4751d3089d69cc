import { formatAmount } from '@oncehook/kernel/money/currencies'
import { Option } from 'commander'
import { type AddCommand, addToGroup, UsageError } from '../command.ts'
import type { OperatorClient } from '../operator/operator-client.ts'
import {
  addOperatorAction,
  addPageOptions,
  describeNext,
  type PageOptions,
  readReason,
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
    call: (client, { options: { order: orderId, state, ...page } }: Typed<Options>) =>
      client.receipts.list.query({ ...toPage(page), orderId, state }),
    describe: (page) => (page.items.length === 0 ? ['No receipts'] : describe(page)),
  })
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

interface ReleaseOptions {
  readonly all?: boolean
  readonly dryRun?: boolean
  readonly reason?: string
}

export const addReceiptsReleaseCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'receipts', 'release')
    .description('Send a parked receipt anyway, or all of them; customers may get them twice.')
    .argument('[key]', 'receipt key, as printed by `receipts list`')
    .option('--all', 'every parked receipt')
    .option('--dry-run', 'with --all: only count them')
    .option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
  addOperatorAction(command, deps, {
    async call(client, { argument: key, options }: Typed<ReleaseOptions>) {
      const { all = false, dryRun = false, reason } = options
      if (all === (key !== '')) throw new UsageError('Give the key of a receipt, or --all')
      if (dryRun && !all) throw new UsageError('--dry-run needs --all')
      const why = await readReason(dryRun ? (reason ?? 'dry run') : reason, deps.context)
      return all ? releaseAll(client, { reason: why, dryRun }) : client.receipts.release.mutate({ key, reason: why })
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

interface ReleasedAll {
  readonly matched: number
  readonly released: number
}

function count(receipts: number): string {
  return receipts === 1 ? '1 receipt' : `${receipts} receipts`
}

/** The gateway stops after some seconds. Each part has its own entry in the audit log. */
async function releaseAll(
  client: OperatorClient,
  request: { readonly reason: string; readonly dryRun: boolean },
): Promise<ReleasedAll> {
  let total: ReleasedAll = { matched: 0, released: 0 }
  for (let after: string | null = null; ; ) {
    const { matched, released, next }: ReleasedAll & { next: string | null } = await client.receipts.releaseAll.mutate({
      ...request,
      after,
    })
    total = { matched: Math.max(total.matched, matched), released: total.released + released }
    if (next === null) return total
    after = next
  }
}
