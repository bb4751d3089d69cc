import { notFound } from '@oncehook/kernel/error-codes'
import type { AppError } from '@oncehook/kernel/errors'
import { z } from 'zod'
import { providerNotPaused, providerPaused } from '../errors.ts'
import type { AuditEntry } from './audit/audit.ts'
import { changingProcedure, type OperatorContext } from './operator-trpc.ts'
import { reasonSchema } from './replays/replay-procedures.ts'

const changeSchema = z.strictObject({ provider: z.string().min(1).max(255), reason: reasonSchema })

type Change = z.output<typeof changeSchema>

/**
 * `providers.pause`: events of this provider are accepted and stored, but not sent to fulfilment until it is resumed.
 * The pause takes effect in all gateways within two seconds. Calls to fulfilment that have already begun are completed.
 */
export const pauseProviderProcedure = changingProcedure.input(changeSchema).mutation(async ({ ctx, input }) => {
  const { provider, reason } = input
  if (!ctx.providers().has(provider)) throw notFound({}, { message: 'No provider has this name' })
  await changePause(ctx, input, {
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
  const { provider } = input
  await changePause(ctx, input, {
    action: 'providers.resume',
    isPaused: true,
    change: () => ctx.pauses.resume(provider),
    refusal: providerNotPaused,
  })
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, provider }, 'provider.resumed')
  return { provider, paused: false as const }
})

interface ChangeKind {
  readonly action: AuditEntry['action']
  /** What the provider must be for this change. */
  readonly isPaused: boolean
  readonly change: () => Promise<boolean>
  readonly refusal: () => AppError
}

/** Every call for a known provider adds an entry to the audit log, even if it was refused. */
async function changePause(ctx: OperatorContext, { provider, reason }: Change, kind: ChangeKind): Promise<void> {
  const { action, isPaused, change, refusal } = kind
  const refuse = async (): Promise<never> => {
    const error = refusal()
    await ctx.audit.record({ by: ctx.operator, action, reason, details: { provider, refused: error.code } })
    throw error
  }
  await ctx.pauses.refresh()
  if (ctx.pauses.current.has(provider) !== isPaused) return refuse()
  // The entry of the audit log comes first. After a crash in between, nothing is changed without an entry.
  await ctx.audit.record({ by: ctx.operator, action, reason, details: { provider } })
  if (!(await change())) return refuse()
}
