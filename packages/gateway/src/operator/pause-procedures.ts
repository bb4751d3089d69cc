import { notFound } from '@oncehook/kernel/http/error-codes'
import { z } from 'zod'
import { providerNotPaused, providerPaused } from '../errors.ts'
import { changePause } from './change-pause.ts'
import { changingProcedure } from './operator-trpc.ts'
import { reasonSchema } from './replays/replay-procedures.ts'

const changeSchema = z.strictObject({ provider: z.string().min(1).max(255), reason: reasonSchema })

/**
 * `providers.pause`: events of this provider are accepted and stored, but not sent to fulfilment until it is resumed.
 * The pause takes effect in all gateways within two seconds. Calls to fulfilment that have already begun are completed.
 */
export const pauseProviderProcedure = changingProcedure.input(changeSchema).mutation(async ({ ctx, input }) => {
  const { provider, reason } = input
  if (!ctx.providers().has(provider)) throw notFound({}, { message: 'No provider has this name' })
  await changePause(ctx, {
    ...{ reason, details: { provider }, name: provider, pauses: ctx.pauses },
    action: 'providers.pause',
    isPaused: false,
    change: () => ctx.pauses.pause({ provider, by: ctx.operator, reason }),
    refusal: providerPaused,
  })
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, provider }, 'provider.paused')
  return { provider, paused: true as const }
})

/** `providers.resume`: the events that waited are sent, the oldest first. The provider may have been removed. */
export const resumeProviderProcedure = changingProcedure.input(changeSchema).mutation(async ({ ctx, input }) => {
  const { provider, reason } = input
  await changePause(ctx, {
    ...{ reason, details: { provider }, name: provider, pauses: ctx.pauses },
    action: 'providers.resume',
    isPaused: true,
    change: () => ctx.pauses.resume(provider),
    refusal: providerNotPaused,
  })
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, provider }, 'provider.resumed')
  return { provider, paused: false as const }
})
