import { notFound } from '@oncehook/kernel/http/error-codes'
import type { Pause } from '@oncehook/queue/pauses'
import { EVENTS, STATE_INDEX } from '@oncehook/queue/task'
import type { Provider } from '@oncehook/webhooks/providers'
import type { Db } from 'mongodb'
import { z } from 'zod'
import { handlerNotPaused, handlerPaused, providerNotPaused, providerPaused } from '../../errors.ts'
import { sentHandlers } from '../../handlers/handler-dispatchers.ts'
import { readInboxDepth } from '../../inbox/statistics/inbox-depth.ts'
import { PROVIDER_STATS, type ProviderCounter } from '../../inbox/statistics/provider-stats.ts'
import { inputText, reasonSchema } from '../input-text.ts'
import { changingProcedure, type OperatorContext, procedure, recordChange, SEARCH_MS } from '../operator-trpc.ts'
import { isSignable } from '../test-events/test-events.ts'

/**
 * `providers.list`: every configured provider with its secrets, never their values, and its deliveries. The age of its
 * oldest unsettled event in seconds is null if there is none, or if the database did not answer in time. For a paused
 * provider: since when, by whom, why, and how many events wait (null if the database did not answer in time). `takesTests`:
 * whether the gateway can sign test events as this provider.
 */
export const listProvidersProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const [stats, { oldest }, pauses] = await Promise.all([
    ctx.db.collection<ProviderCounter>(PROVIDER_STATS).find({}, { maxTimeMS: SEARCH_MS }).limit(10_000).toArray(),
    readInboxDepth(ctx.db, sentHandlers(ctx.handlers?.(), ctx.handlerPauses.current), ctx.pauses.current.keys()),
    ctx.pauses.list().then((all) => showPauses(ctx.db, all)),
  ])
  const paused = new Map(pauses)
  const byProvider = Map.groupBy(stats, ({ _id }) => _id.provider)
  return [...ctx.providers().values()].map((provider) => ({
    ...showProvider(provider, byProvider.get(provider.name) ?? []),
    oldestUnsettledSeconds: oldest?.get(provider.name) ?? null,
    paused: paused.get(provider.name) ?? null,
  }))
})

/** `providers.refusedSettings`: why this process does not use the newest settings of the providers. Empty: it does. */
export const refusedSettingsProcedure = procedure
  .input(z.strictObject({}).optional())
  .query(({ ctx }) => ({ problems: [...ctx.refusedProviders()] }))

function showProvider(provider: Provider, stats: readonly ProviderCounter[]) {
  const { name, scheme, secrets } = provider
  const matches = new Map(stats.filter(({ _id }) => _id.kind === 'secret').map((stat) => [stat._id.name, stat]))
  const deliveries = stats.filter(({ _id }) => _id.kind === 'delivery')
  return {
    name,
    scheme,
    path: `/api/webhooks/${name}`,
    secrets: secrets.map(({ id, notAfter }) => ({
      id,
      notAfter: notAfter === null ? null : new Date(notAfter).toISOString(),
      lastMatchedAt: matches.get(id)?.lastAt.toISOString() ?? null,
      matches: matches.get(id)?.count ?? 0,
    })),
    takesTests: isSignable(provider),
    deliveries: Object.fromEntries(deliveries.map(({ _id, count }) => [_id.name, count])),
  }
}

async function showPauses(db: Db, pauses: readonly Pause[]) {
  const names = pauses.map(({ name }) => name)
  const waiting = await countWaiting(db, names).catch(() => null)
  return pauses.map(({ name, since, by, reason }) => {
    const count = waiting === null ? null : (waiting.get(name) ?? 0)
    return [name, { since: since.toISOString(), by, reason, waiting: count }] as const
  })
}

/** Reads the keys of all pending events once, whatever the number of providers. */
async function countWaiting(db: Db, providers: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (providers.length === 0) return new Map()
  const pipeline = [
    { $match: { state: 'pending', provider: { $in: providers } } },
    { $group: { _id: '$provider', count: { $sum: 1 } } },
  ]
  const options = { maxTimeMS: SEARCH_MS, hint: STATE_INDEX }
  const counted = db.collection(EVENTS).aggregate<{ readonly _id: string; readonly count: number }>(pipeline, options)
  return new Map((await counted.toArray()).map(({ _id, count }) => [_id, count]))
}

const changeSchema = z.strictObject({ provider: inputText(255), reason: reasonSchema })

/**
 * `providers.pause`: events of this provider are accepted and stored, but not sent until it is resumed.
 * The pause takes effect in all gateways within two seconds. Calls to fulfilment that have already begun are completed.
 */
export const pauseProviderProcedure = changingProcedure.input(changeSchema).mutation(async ({ ctx, input }) => {
  const { provider, reason } = input
  if (!ctx.providers().has(provider)) throw notFound({}, { message: 'No provider has this name' })
  await changePause(ctx, 'providers.pause', provider, reason)
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, provider }, 'provider.paused')
  return { provider, paused: true as const }
})

/** `providers.resume`: the events that waited are sent, the oldest first. The provider may have been removed. */
export const resumeProviderProcedure = changingProcedure.input(changeSchema).mutation(async ({ ctx, input }) => {
  const { provider, reason } = input
  await changePause(ctx, 'providers.resume', provider, reason)
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, provider }, 'provider.resumed')
  return { provider, paused: false as const }
})

/** The changes of pauses: what is paused or resumed, and the refusal if it was already. */
const CHANGES = {
  'providers.pause': { noun: 'provider', pauses: 'pauses', isPause: true, refusal: providerPaused },
  'providers.resume': { noun: 'provider', pauses: 'pauses', isPause: false, refusal: providerNotPaused },
  'handlers.pause': { noun: 'handler', pauses: 'handlerPauses', isPause: true, refusal: handlerPaused },
  'handlers.resume': { noun: 'handler', pauses: 'handlerPauses', isPause: false, refusal: handlerNotPaused },
} as const

/**
 * Pauses or resumes a provider or handler. Every call adds an entry to the audit log, even if it was refused.
 * @throws the refusal if it was paused or resumed already
 */
export async function changePause(
  ctx: OperatorContext,
  action: keyof typeof CHANGES,
  name: string,
  reason: string,
): Promise<void> {
  const { noun, isPause, refusal } = CHANGES[action]
  const pauses = ctx[CHANGES[action].pauses]
  await pauses.refresh()
  await recordChange(
    ctx,
    { action, reason, details: { [noun]: name } },
    {
      isPossible: pauses.current.has(name) !== isPause,
      change: () => (isPause ? pauses.pause({ name, by: ctx.operator, reason }) : pauses.resume(name)),
      refusal,
    },
  )
}
