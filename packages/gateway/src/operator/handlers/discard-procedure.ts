import { handlerConfigured } from '../../errors.ts'
import { FULFILMENT } from '../../inbox/event-document.ts'
import { discardTasks } from '../../inbox/tasks/discard-tasks.ts'
import { changingProcedure, type OperatorContext } from '../operator-trpc.ts'
import { handlerChangeSchema } from './handler-pause-procedures.ts'

/**
 * `handlers.discard`: settles the pending and the dead tasks of a handler that was removed from the setting, as `unhandled`.
 * It takes some seconds at most: repeat the call as long as there are `more`. Every call adds an entry to the audit log,
 * even if it was refused.
 */
export const discardTasksProcedure = changingProcedure.input(handlerChangeSchema).mutation(async ({ ctx, input }) => {
  const { handler, reason } = input
  const entry = { by: ctx.operator, action: 'handlers.discard', reason } as const
  if (isConfigured(ctx, handler)) {
    const error = handlerConfigured()
    await ctx.audit.record({ ...entry, details: { handler, refused: error.code } })
    throw error
  }
  // The entry of the audit log comes first. After a crash in between, nothing is discarded without an entry.
  await ctx.audit.record({ ...entry, details: { handler } })
  const result = await discardTasks(ctx, handler)
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, handler, ...result }, 'handler.tasks-discarded')
  return { handler, ...result }
})

function isConfigured({ handlers }: OperatorContext, name: string): boolean {
  return name === FULFILMENT || handlers?.().has(name) === true
}
