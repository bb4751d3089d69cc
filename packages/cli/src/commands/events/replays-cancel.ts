import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addOperatorAction } from '../../operator/add-operator-action.ts'
import { describeReplay } from '../../operator/describe-replay.ts'

/** `oncehook replays cancel`: cancels a replay. */
export const addReplaysCancelCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'replays', 'cancel')
    .description('Cancel a replay; events that it already made due stay due.')
    .argument('<id>', 'replay id, as printed by `events replay`')
  addOperatorAction(command, deps, {
    call: async (client, { argument: replayId }) => ({
      replayId,
      ...(await client.replays.cancel.mutate({ replayId })),
    }),
    describe: describeReplay,
  })
}
