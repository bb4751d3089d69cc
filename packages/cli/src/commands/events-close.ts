import type { CliContext } from '../cli-context.ts'
import type { AddCommand } from '../command.ts'
import { commandGroup } from '../command-group.ts'
import { connectOperator } from '../operating/connect-operator.ts'
import { ask } from '../operating/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../operating/operator-options.ts'
import { readReason } from '../operating/read-reason.ts'
import { writeJson, writeLines } from '../output.ts'

interface Options extends OperatorOptions {
  readonly reason?: string
}

/** `oncehook events close`: a dead event stays as it is for good. */
export const addEventsCloseCommand: AddCommand = (program, { context, finish }) => {
  const command = commandGroup(program, 'events', 'Look at events and replay those that failed.')
    .command('close')
    .description('Close an event that is dead: no delivery revives it.')
    .argument('<id>', 'its id, as `events list` prints it')
    .option('--reason <text>', 'why, for the audit (asked for on a terminal)')
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
  writeLines(context, ['Closed: no delivery revives the event'])
}
