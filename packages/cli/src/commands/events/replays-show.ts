import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addOperatorAction } from '../../operator/add-operator-action.ts'
import { describeReplay } from '../../operator/describe-replay.ts'

/** `oncehook replays show`: shows the progress of a replay. */
export const addReplaysShowCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'replays', 'show')
    .description('Show the progress of a replay.')
    .argument('<id>', 'replay id, as printed by `events replay`')
  addOperatorAction(command, deps, {
    call: async (client, { argument: replayId }) => ({ replayId, ...(await client.replays.get.query({ replayId })) }),
    describe: describeReplay,
  })
}
