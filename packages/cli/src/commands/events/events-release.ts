import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addReasonedAction } from '../../operator/add-operator-action.ts'

/** `oncehook events release`: takes an event from its process and makes it due now. */
export const addEventsReleaseCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'events', 'release')
    .description('Take an event from the process that holds it, and make it due now.')
    .argument('<id>', 'event id, as printed by `events list`')
  addReasonedAction(command, deps, {
    call: (client, { argument: id, reason }) => client.events.release.mutate({ id, reason }),
    describe: () => ['Released: the event is due now'],
  })
}
