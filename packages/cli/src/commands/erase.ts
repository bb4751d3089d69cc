import { type AddCommand, type CliContext, UsageError } from '../command.ts'
import { addOperatorOptions, ask, connectOperator, type OperatorOptions } from '../operator/operator-client.ts'
import { readReason } from '../operator/operator-command.ts'
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
Give exactly one of --order, --customer and --event. Orders are deleted. Events, receipts and the responses stored for
idempotency keys keep only keys and hashes, so that nothing takes effect twice. While an event or a receipt is being
processed, nothing is erased and the command exits with 1: run it again later. If an event is stored or becomes due
again while the command runs, a part is erased, and the command says so and exits with 1: run it again. After an
interruption, run the same command again. It does not reach files of receipts, emails, receivers of receipts, logs and
backups.`

export const addEraseCommand: AddCommand = (program, { context, finish }) => {
  const command = program
    .command('erase')
    .description('Erase the personal data of an order, of all orders of a customer, or of an event.')
    .option('--order <id>', 'the order')
    .option('--customer <id>', 'all orders with this `customerId`')
    .option('--event <id>', "the event with this provider's id; needs --provider")
    .option('--provider <name>', 'the provider of the event')
    .option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
    .option('--dry-run', 'only count the records that would be erased')
    .addHelpText('after', notes)
    .action(async (options: Options) => finish(await erase(options, context)))
  addOperatorOptions(command)
}

type Target =
  | { readonly orderId: string }
  | { readonly customerId: string }
  | { readonly provider: string; readonly eventId: string }

function toTarget({ order, customer, event, provider }: Options): Target {
  const given = [order, customer, event].filter((value) => value !== undefined)
  if (given.length !== 1) throw new UsageError('Give one of --order, --customer and --event')
  if ((event === undefined) !== (provider === undefined))
    throw new UsageError('--event and --provider must be used together')
  if (order !== undefined) return { orderId: order }
  if (customer !== undefined) return { customerId: customer }
  return { eventId: event ?? '', provider: provider ?? '' }
}

async function erase(options: Options, context: CliContext): Promise<0> {
  const target = toTarget(options)
  const client = await connectOperator(options, context)
  const reason = await readReason(options.reason, context)
  const dryRun = options.dryRun === true
  let total: Total = { matched: 0, erased: 0, orders: [] }
  try {
    for (let more = true; more; ) {
      const answer = await ask(client.erase.mutate({ ...target, reason, dryRun }))
      total = add(total, answer)
      more = answer.more
    }
  } catch (error) {
    // Later events of these orders can only be found by the ids, which the next command may not find again.
    if (total.orders.length > 0) showBefore(options, context, total)
    throw error
  }
  show(options, context, total)
  return 0
}

/** What was erased before an error. With `--json`, standard output has only the error. */
function showBefore({ json }: Options, context: CliContext, total: Total): void {
  const lines = describe(total, false)
  if (json) context.warn(`${lines.join('\n')}\n`)
  else writeLines(context, lines)
}

function show({ json, dryRun }: Options, context: CliContext, total: Total): void {
  if (json) writeJson(context, total)
  else writeLines(context, describe(total, dryRun === true))
}

function add(total: Total, answer: Total): Total {
  return {
    matched: total.matched + answer.matched,
    erased: total.erased + answer.erased,
    orders: [...new Set([...total.orders, ...answer.orders])],
  }
}

interface Total {
  readonly matched: number
  readonly erased: number
  readonly orders: readonly string[]
}

function describe({ matched, erased, orders }: Total, dryRun: boolean): string[] {
  const records = (count: number): string => (count === 1 ? '1 record' : `${count} records`)
  const lines: string[] = []
  if (matched > 0)
    lines.push(dryRun ? `${records(matched)} would be erased` : `${records(erased)} erased; keys and hashes remain`)
  else lines.push('Nothing to erase: only keys and hashes are stored')
  if (orders.length > 0) lines.push(`Orders: ${orders.join(' ')}`)
  return lines
}
