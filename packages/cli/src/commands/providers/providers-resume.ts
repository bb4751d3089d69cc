import { reasonedCommand } from '../../operator/reasoned-command.ts'

/** `oncehook providers resume`: sends the events of a paused provider to fulfilment. */
export const addProvidersResumeCommand = reasonedCommand(['providers', 'resume'], {
  description: 'Send the events of a paused provider to fulfilment, the oldest first.',
  argument: ['<provider>', 'name of the provider, as printed by `providers list`'],
  call: (client, { argument: provider, reason }) => client.providers.resume.mutate({ provider, reason }),
  describe: ({ provider }) => [`Resumed: the events of ${provider} that waited are due now`],
})
