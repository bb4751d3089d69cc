import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addReasonedAction } from '../../operator/add-operator-action.ts'

/** `oncehook providers pause`: stores the events of a provider without sending them to fulfilment. */
export const addProvidersPauseCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'providers', 'pause')
    .description('Accept and store the events of a provider, but send none to fulfilment until it is resumed.')
    .argument('<provider>', 'name of the provider, as printed by `providers list`')
  addReasonedAction(command, deps, {
    call: (client, { argument: provider, reason }) => client.providers.pause.mutate({ provider, reason }),
    describe: ({ provider }) => [`Paused: events of ${provider} are stored, and wait until it is resumed`],
  })
}
