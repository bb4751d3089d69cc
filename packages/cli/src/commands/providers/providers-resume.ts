import { addToGroup } from '../../add-to-group.ts'
import type { AddCommand } from '../../command.ts'
import { addReasonedAction } from '../../operator/add-operator-action.ts'

/** `oncehook providers resume`: sends the events of a paused provider to fulfilment. */
export const addProvidersResumeCommand: AddCommand = (program, deps) => {
  const command = addToGroup(program, 'providers', 'resume')
    .description('Send the events of a paused provider to fulfilment, the oldest first.')
    .argument('<provider>', 'name of the provider, as printed by `providers list`')
  addReasonedAction(command, deps, {
    call: (client, { argument: provider, reason }) => client.providers.resume.mutate({ provider, reason }),
    describe: ({ provider }) => [`Resumed: the events of ${provider} that waited are due now`],
  })
}
