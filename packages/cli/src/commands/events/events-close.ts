import type { CliContext } from '../../cli-context.ts'
import type { AddCommand } from '../../command.ts'
import { commandGroup } from '../../command-group.ts'
import { connectOperator } from '../../operator/connect-operator.ts'
import { ask } from '../../operator/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../../operator/operator-options.ts'
import { readReason } from '../../operator/read-reason.ts'
import { writeJson, writeLines } from '../../output.ts'

interface Options extends OperatorOptions {
  readonly reason?: string
}

/** `oncehook events close`: closes a dead event. */
export const addEventsCloseCommand: AddCommand = (program, { context, finish }) => {
  const command = commandGroup(program, 'events', 'Inspect events and replay failed ones.')
    .command('close')
    .description('Close a dead event, so that no redelivery revives it.')
    .argument('<id>', 'event id, as printed by `events list`')
    .option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
    .action(async (id: string, options: Options) => {
      await closeEvent(id, options, context)
      finish(0)
    })
  addOperatorOptions(command)
}

async function closeEvent(id: string, options: Options, context: CliContext): Promise<void> {
  const client = await connectOperator(options, context)
  const reason = await readReason(options.reason, context)
  const closed = await ask(client.events.close.mutate({ id, reason }))
  if (options.json) return writeJson(context, closed)
  writeLines(context, ['Closed: no redelivery revives the event'])
}
