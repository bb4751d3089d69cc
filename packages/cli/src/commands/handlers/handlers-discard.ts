import { reasonedCommand } from '../../operator/reasoned-command.ts'

/** `oncehook handlers discard`: settles the tasks of a handler that was removed. */
export const addHandlersDiscardCommand = reasonedCommand(['handlers', 'discard'], {
  description: 'Settle the pending and dead tasks of a handler that is no longer configured in any gateway.',
  argument: ['<handler>', 'name of the handler, as it was in the setting'],
  async call(client, { argument: handler, reason }) {
    let discarded = 0
    for (;;) {
      const answer = await client.handlers.discard.mutate({ handler, reason })
      discarded += answer.discarded
      if (!answer.more) return { ...answer, discarded }
    }
  },
  describe: ({ handler, discarded, held }) => [
    `Discarded ${discarded} tasks of ${handler}`,
    ...(held === 0 ? [] : [`${held} are held by a process. Discard again when they are pending`]),
  ],
})
