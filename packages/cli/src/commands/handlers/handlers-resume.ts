import { reasonedCommand } from '../../operator/reasoned-command.ts'

/** `oncehook handlers resume`: sends the tasks of a paused handler. */
export const addHandlersResumeCommand = reasonedCommand(['handlers', 'resume'], {
  description: 'Send the tasks of a paused handler, the oldest first.',
  argument: ['<handler>', 'name of the handler, as printed by `handlers list`'],
  call: (client, { argument: handler, reason }) => client.handlers.resume.mutate({ handler, reason }),
  describe: ({ handler }) => [`Resumed: the tasks of ${handler} that waited are due now`],
})
