import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import { UsageError } from '../exit-code.ts'
import { connectOperator } from '../operating/connect-operator.ts'
import { ask } from '../operating/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../operating/operator-options.ts'
import { readReason } from '../operating/read-reason.ts'
import { writeJson, writeLines } from '../output.ts'

interface Options extends OperatorOptions {
  readonly order?: string
  readonly customer?: string
  readonly event?: string
  readonly provider?: string
  readonly reason?: string
  readonly dryRun?: boolean
}

const notes = `
Give one of --order, --customer and --event. Orders are deleted; events, receipts and answers to idempotency keys lose
everything but keys and hashes, so that nothing can take effect twice. While an event or a receipt is under way nothing is
erased: exit 1, and later again. The same where orders of an earlier release are not looked through yet. A call that was
interrupted is finished by the same command.`

/** `oncehook erase`: removes what is kept of an order, a customer or an event. */
export const addEraseCommand: AddCommand = (program, { context, finish }) => {
  const command = program
    .command('erase')
    .description('Remove personal data: of an order, of all orders of a customer, or of one event.')
    .option('--order <id>', 'of this order')
    .option('--customer <id>', 'of all orders of this customer, the `customerId` of orders')
    .option('--event <id>', "of the event with this id, the provider's own; with --provider")
    .option('--provider <name>', 'the provider of the event')
    .option('--reason <text>', 'why, for the audit (asked for on a terminal)')
    .option('--dry-run', 'only count what would be erased')
    .addHelpText('after', notes)
    .action(async (options: Options) => {
      finish((await erase(options, context)) ? 0 : 1)
    })
  addOperatorOptions(command)
}

type Target =
  | { readonly orderId: string }
  | { readonly customerId: string }
  | { readonly provider: string; readonly eventId: string }

function toTarget({ order, customer, event, provider }: Options): Target {
  const given = [order, customer, event].filter((value) => value !== undefined)
  if (given.length !== 1) throw new UsageError('Give one of --order, --customer and --event')
  if ((event === undefined) !== (provider === undefined)) throw new UsageError('--event and --provider go together')
  if (order !== undefined) return { orderId: order }
  if (customer !== undefined) return { customerId: customer }
  return { eventId: event ?? '', provider: provider ?? '' }
}

/** Resolves to whether all was looked through. */
async function erase(options: Options, context: CliContext): Promise<boolean> {
  const target = toTarget(options)
  const client = await connectOperator(options, context)
  const reason = await readReason(options.reason, context)
  const dryRun = options.dryRun === true
  const total = { matched: 0, erased: 0 }
  const orders = new Set<string>()
  let complete = true
  for (let more = true; more; ) {
    const answer = await ask(client.erase.mutate({ ...target, reason, dryRun }))
    total.matched += answer.matched
    total.erased += answer.erased
    for (const id of answer.orders) orders.add(id)
    complete &&= answer.complete
    more = answer.more
  }
  if (options.json) writeJson(context, { ...total, complete, orders: [...orders] })
  else writeLines(context, describe({ ...total, complete, orders: [...orders], dryRun }))
  return complete
}

interface Total {
  readonly matched: number
  readonly erased: number
  readonly complete: boolean
  readonly orders: readonly string[]
  readonly dryRun: boolean
}

function describe({ matched, erased, complete, orders, dryRun }: Total): string[] {
  const records = (count: number): string => (count === 1 ? '1 record' : `${count} records`)
  const lines: string[] = []
  if (matched > 0)
    lines.push(dryRun ? `${records(matched)} would be erased` : `${records(erased)} erased; keys and hashes stay`)
  else if (complete) lines.push('Nothing is kept of it but keys and hashes')
  if (orders.length > 0) lines.push(`Orders: ${orders.join(' ')}`)
  if (!complete)
    lines.push('Orders of an earlier release are not looked through yet: give the same command again in an hour')
  return lines
}
