import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addReasonedAction } from '../../operator/add-operator-action.ts'

/** `oncehook events close`: closes a dead event. */
export const addEventsCloseCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'events', 'close')
    .description('Close a dead event, so that no redelivery revives it.')
    .argument('<id>', 'event id, as printed by `events list`')
  addReasonedAction(command, deps, {
    call: (client, { argument: id, reason }) => client.events.close.mutate({ id, reason }),
    describe: () => ['Closed: no redelivery revives the event'],
  })
}
