import { reasonedCommand } from '../../operator/reasoned-command.ts'

/** `oncehook events release`: releases an event from its process and makes it due now. */
export const addEventsReleaseCommand = reasonedCommand(['events', 'release'], {
  description: 'Release an event from the process that holds it, and make it due now.',
  argument: ['<id>', 'event id, as printed by `events list`'],
  call: (client, { argument: id, reason }) => client.events.release.mutate({ id, reason }),
  describe: () => ['Released: the event is due now'],
})
