import { notFound } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import type { Pause } from '@oncehook/queue/pauses'
import { EVENTS, STATE_INDEX } from '@oncehook/queue/task'
import type { Provider } from '@oncehook/webhooks/providers'
import type { Db } from 'mongodb'
import { z } from 'zod'
import { providerNotPaused, providerPaused } from '../../errors.ts'
import { sentHandlers } from '../../handlers/handler-dispatchers.ts'
import { readInboxDepth } from '../../inbox/statistics/inbox-depth.ts'
import { PROVIDER_STATS, type ProviderCounter } from '../../inbox/statistics/provider-stats.ts'
import type { AuditEntry } from '../audit/audit.ts'
import { inputText, reasonSchema } from '../input-text.ts'
import { changingProcedure, type OperatorContext, procedure, SEARCH_MS } from '../operator-trpc.ts'
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

interface ShownPause {
  readonly since: string
  readonly by: string
  readonly reason: string
  readonly waiting: number | null
}

async function showPauses(db: Db, pauses: readonly Pause[]): Promise<[provider: string, ShownPause][]> {
  const waiting = await countWaiting(
    db,
    pauses.map(({ name }) => name),
  ).catch(() => null)
  return pauses.map(({ name, since, by, reason }) => [
    name,
    { since: since.toISOString(), by, reason, waiting: waiting === null ? null : (waiting.get(name) ?? 0) },
  ])
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
    change: () => ctx.pauses.pause({ name: provider, by: ctx.operator, reason }),
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

/** A pause or a resume of one provider or handler. */
interface PauseChange {
  readonly action: AuditEntry['action']
  readonly reason: string
  /** What is paused or resumed, as the entry of the audit log names it. */
  readonly details: Readonly<Record<string, string>>
  /** The name of the provider or handler. */
  readonly name: string
  readonly pauses: { readonly current: { has(name: string): boolean }; refresh(): Promise<unknown> }
  /** What the provider or handler must be for this change. */
  readonly isPaused: boolean
  /** Resolves to whether it changed anything. */
  readonly change: () => Promise<boolean>
  readonly refusal: () => AppError
}

/**
 * Pauses or resumes a provider or handler. Every call adds an entry to the audit log, even if it was refused.
 * @throws the refusal if it was paused or resumed already
 */
export async function changePause(ctx: OperatorContext, asked: PauseChange): Promise<void> {
  const { action, reason, details, name, pauses, isPaused, change, refusal } = asked
  const refuse = async (): Promise<never> => {
    const error = refusal()
    await ctx.audit.record({ by: ctx.operator, action, reason, details: { ...details, refused: error.code } })
    throw error
  }
  await pauses.refresh()
  if (pauses.current.has(name) !== isPaused) return refuse()
  // The entry of the audit log comes first. After a crash in between, nothing is changed without an entry.
  await ctx.audit.record({ by: ctx.operator, action, reason, details })
  if (!(await change())) return refuse()
}
