import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import { commandGroup } from '../command-group.ts'
import { connectOperator } from '../operator/connect-operator.ts'
import { ask } from '../operator/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../operator/operator-options.ts'
import { readReason } from '../operator/read-reason.ts'
import { toPrintable, writeJson, writeLines } from '../output.ts'

interface Options extends OperatorOptions {
  readonly reason?: string
}

/** `oncehook receipts release`: sends a parked receipt. */
export const addReceiptsReleaseCommand: AddCommand = (program, { context, finish }) => {
  const command = commandGroup(program, 'receipts', 'Inspect receipts and release parked ones.')
    .command('release')
    .description('Send a parked receipt anyway; the customer may get it twice.')
    .argument('<key>', 'receipt key, as printed by `receipts list`')
    .option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
    .action(async (key: string, options: Options) => {
      await releaseReceipt(key, options, context)
      finish(0)
    })
  addOperatorOptions(command)
}

async function releaseReceipt(key: string, options: Options, context: CliContext): Promise<void> {
  const client = await connectOperator(options, context)
  const reason = await readReason(options.reason, context)
  const released = await ask(client.receipts.release.mutate({ key, reason }))
  if (options.json) return writeJson(context, released)
  writeLines(context, [`Released: the receipt for order ${toPrintable(released.orderId)} is due now`])
}
