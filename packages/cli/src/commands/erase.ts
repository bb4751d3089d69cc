import { type AddCommand, type CliContext, UsageError } from '../command.ts'
import {
  addOperatorOptions,
  ask,
  connectOperator,
  type OperatorClient,
  type OperatorOptions,
} from '../operator/operator-client.ts'
import { addReasonOption, type ReasonOptions, readReason } from '../operator/operator-command.ts'
import { writeLines, writeResult } from '../output.ts'

interface Options extends OperatorOptions, ReasonOptions {
  readonly order?: string
  readonly customer?: string
  readonly event?: string
  readonly provider?: string
}

const notes = `
Give exactly one of --order, --customer and --event. Orders are deleted. Events, receipts and the responses stored for
idempotency keys keep only keys and hashes, so that nothing takes effect twice. While an event or a receipt is being
processed, nothing is erased and the command exits with 1: run it again later. If an event is stored or becomes due
again while the command runs, a part is erased, and the command says so and exits with 1: run it again. After an
interruption, run the same command again. It does not reach files of receipts, emails, receivers of receipts, logs and
backups.`

export const addEraseCommand: AddCommand = (program, { context }) => {
  const command = program
    .command('erase')
    .description('Erase the personal data of an order, of all orders of a customer, or of an event.')
    .option('--order <id>', 'the order')
    .option('--customer <id>', 'all orders with this `customerId`')
    .option('--event <id>', "the event with this provider's id; needs --provider")
    .option('--provider <name>', 'the provider of the event')
  addReasonOption(command)
    .option('--dry-run', 'only count the records that would be erased')
    .addHelpText('after', notes)
    .action((options: Options) => erase(options, context))
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

async function erase(options: Options, context: CliContext): Promise<void> {
  const target = toTarget(options)
  const client = await connectOperator(options, context)
  const reason = await readReason({ ...options, dryRun: false }, context)
  const { json, dryRun = false } = options
  let total: Total = { matched: 0, erased: 0, orders: [] }
  try {
    for (let more = true; more; ) {
      const answer = await ask(client.erase.mutate({ ...target, reason, dryRun }))
      total = add(total, answer)
      more = answer.more
    }
  } catch (error) {
    // Later events of these orders can only be found by the ids, which the next command may not find again. With `--json`,
    // standard output has only the error.
    if (total.orders.length > 0) writeLines({ write: json ? context.warn : context.write }, describe(total, false))
    throw error
  }
  writeResult(context, options, total, describe(total, dryRun))
}

type Total = Omit<Awaited<ReturnType<OperatorClient['erase']['mutate']>>, 'more'>

function add(total: Total, answer: Total): Total {
  return {
    matched: total.matched + answer.matched,
    erased: total.erased + answer.erased,
    orders: [...new Set([...total.orders, ...answer.orders])],
  }
}

function describe({ matched, erased, orders }: Total, dryRun: boolean): string[] {
  const records = (count: number): string => (count === 1 ? '1 record' : `${count} records`)
  const done = dryRun ? `${records(matched)} would be erased` : `${records(erased)} erased; keys and hashes remain`
  return [
    matched > 0 ? done : 'Nothing to erase: only keys and hashes are stored',
    ...(orders.length > 0 ? [`Orders: ${orders.join(' ')}`] : []),
  ]
}
