import { reasonedCommand } from '../../operator/reasoned-command.ts'

/** `oncehook handlers pause`: stores the tasks of a handler without sending them. */
export const addHandlersPauseCommand = reasonedCommand(['handlers', 'pause'], {
  description: 'Store the tasks of a handler, but send none until it is resumed.',
  argument: ['<handler>', 'name of the handler, as printed by `handlers list`'],
  call: (client, { argument: handler, reason }) => client.handlers.pause.mutate({ handler, reason }),
  describe: ({ handler }) => [`Paused: tasks of ${handler} are stored, and wait until it is resumed`],
})
