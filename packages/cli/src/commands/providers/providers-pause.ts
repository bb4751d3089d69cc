import { reasonedCommand } from '../../operator/reasoned-command.ts'

/** `oncehook providers pause`: stores the events of a provider without sending them to fulfilment. */
export const addProvidersPauseCommand = reasonedCommand(['providers', 'pause'], {
  description: 'Accept and store the events of a provider, but send none to fulfilment until it is resumed.',
  argument: ['<provider>', 'name of the provider, as printed by `providers list`'],
  call: (client, { argument: provider, reason }) => client.providers.pause.mutate({ provider, reason }),
  describe: ({ provider }) => [`Paused: events of ${provider} are stored, and wait until it is resumed`],
})
