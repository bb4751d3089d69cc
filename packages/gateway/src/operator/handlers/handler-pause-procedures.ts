import { notFound } from '@oncehook/kernel/http/error-codes'
import { z } from 'zod'
import { handlerNotPaused, handlerPaused } from '../../errors.ts'
import { FULFILMENT } from '../../inbox/event-document.ts'
import { changePause } from '../change-pause.ts'
import { changingProcedure, type OperatorContext } from '../operator-trpc.ts'
import { reasonSchema } from '../replays/replay-procedures.ts'

/** The input of a change of a handler: its name, and why. */
export const handlerChangeSchema = z.strictObject({ handler: z.string().min(1).max(63), reason: reasonSchema })

/**
 * `handlers.pause`: tasks of this handler are stored, but not sent until it is resumed. It takes effect in all gateways
 * within two seconds. Calls that have already begun are completed.
 */
export const pauseHandlerProcedure = changingProcedure.input(handlerChangeSchema).mutation(async ({ ctx, input }) => {
  const { handler, reason } = input
  if (!isKnown(ctx, handler)) throw notFound({}, { message: 'No handler has this name' })
  await changePause(ctx, {
    ...{ reason, details: { handler }, name: handler, pauses: ctx.handlerPauses },
    action: 'handlers.pause',
    isPaused: false,
    change: () => ctx.handlerPauses.pause({ handler, by: ctx.operator, reason }),
    refusal: handlerPaused,
  })
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, handler }, 'handler.paused')
  return { handler, paused: true as const }
})

/** `handlers.resume`: the tasks that waited are sent, the oldest first. The handler may have been removed. */
export const resumeHandlerProcedure = changingProcedure.input(handlerChangeSchema).mutation(async ({ ctx, input }) => {
  const { handler, reason } = input
  await changePause(ctx, {
    ...{ reason, details: { handler }, name: handler, pauses: ctx.handlerPauses },
    action: 'handlers.resume',
    isPaused: true,
    change: () => ctx.handlerPauses.resume(handler),
    refusal: handlerNotPaused,
  })
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, handler }, 'handler.resumed')
  return { handler, paused: false as const }
})

function isKnown({ handlers }: OperatorContext, name: string): boolean {
  return handlers !== null && (name === FULFILMENT || handlers().has(name))
}
