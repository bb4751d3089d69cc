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

/** `oncehook events release`: takes an event from its process and makes it due now. */
export const addEventsReleaseCommand: AddCommand = (program, { context, finish }) => {
  const command = commandGroup(program, 'events', 'Inspect events and replay failed ones.')
    .command('release')
    .description('Take an event from the process that holds it, and make it due now.')
    .argument('<id>', 'event id, as printed by `events list`')
    .option('--reason <text>', 'reason for the audit log (a terminal prompts for it)')
    .action(async (id: string, options: Options) => {
      await releaseEvent(id, options, context)
      finish(0)
    })
  addOperatorOptions(command)
}

async function releaseEvent(id: string, options: Options, context: CliContext): Promise<void> {
  const client = await connectOperator(options, context)
  const reason = await readReason(options.reason, context)
  const released = await ask(client.events.release.mutate({ id, reason }))
  if (options.json) return writeJson(context, released)
  writeLines(context, ['Released: the event is due now'])
}
