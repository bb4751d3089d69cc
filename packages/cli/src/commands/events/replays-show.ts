import type { CliContext } from '../../cli-context.ts'
import type { AddCommand } from '../../command.ts'
import { commandGroup } from '../../command-group.ts'
import { connectOperator } from '../../operator/connect-operator.ts'
import { describeReplay } from '../../operator/describe-replay.ts'
import { ask } from '../../operator/operator-client.ts'
import { addOperatorOptions, type OperatorOptions } from '../../operator/operator-options.ts'
import { writeJson, writeLines } from '../../output.ts'

/** `oncehook replays show`: shows the progress of a replay. */
export const addReplaysShowCommand: AddCommand = (program, { context, finish }) => {
  const command = commandGroup(program, 'replays', 'Inspect or cancel a replay.')
    .command('show')
    .description('Show the progress of a replay.')
    .argument('<id>', 'replay id, as printed by `events replay`')
    .action(async (id: string, options: OperatorOptions) => {
      await showReplay(id, options, context)
      finish(0)
    })
  addOperatorOptions(command)
}

async function showReplay(replayId: string, options: OperatorOptions, context: CliContext): Promise<void> {
  const client = await connectOperator(options, context)
  const progress = await ask(client.replays.get.query({ replayId }))
  if (options.json) writeJson(context, { replayId, ...progress })
  else writeLines(context, describeReplay(progress))
}
