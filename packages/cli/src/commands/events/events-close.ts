import { reasonedCommand } from '../../operator/reasoned-command.ts'

/** `oncehook events close`: closes a dead event. */
export const addEventsCloseCommand = reasonedCommand(['events', 'close'], {
  description: 'Close a dead event, so that no redelivery revives it.',
  argument: ['<id>', 'event id, as printed by `events list`'],
  call: (client, { argument: id, reason }) => client.events.close.mutate({ id, reason }),
  describe: () => ['Closed: no redelivery revives the event'],
})
