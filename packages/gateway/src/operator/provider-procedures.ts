import type { Provider } from '@oncehook/webhooks/providers'
import type { Db } from 'mongodb'
import { z } from 'zod'
import { sentHandlers } from '../handlers/sent-handlers.ts'
import { EVENTS, PENDING_INDEX } from '../inbox/event-document.ts'
import type { Pause } from '../inbox/pauses/provider-pauses.ts'
import { readInboxDepth } from '../inbox/statistics/inbox-depth.ts'
import { PROVIDER_STATS, type ProviderCounter } from '../inbox/statistics/provider-stats.ts'
import { procedure, SEARCH_MS } from './operator-trpc.ts'
import { isSignable } from './test-events/is-signable.ts'

/**
 * `providers.list`: every configured provider with its secrets, never their values, and its deliveries. The age of its
 * oldest unsettled event in seconds is null if there is none, or if the database did not answer in time. For a paused
 * provider: since when, by whom, why, and how many events wait (null if the database did not answer in time). `takesTests`:
 * whether the gateway can sign test events as this provider.
 */
export const listProvidersProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const [stats, { oldest }, pauses] = await Promise.all([
    ctx.db.collection<ProviderCounter>(PROVIDER_STATS).find({}, { maxTimeMS: SEARCH_MS }).limit(10_000).toArray(),
    readInboxDepth(ctx.db, sentHandlers(ctx.handlers?.(), ctx.handlerPauses.current)),
    ctx.pauses.list().then((all) => Promise.all(all.map((pause) => showPause(ctx.db, pause)))),
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

async function showPause(db: Db, { provider, since, by, reason }: Pause): Promise<[provider: string, ShownPause]> {
  const options = { maxTimeMS: SEARCH_MS, hint: PENDING_INDEX }
  const counted = db.collection(EVENTS).countDocuments({ state: 'pending', provider }, options)
  return [provider, { since: since.toISOString(), by, reason, waiting: await counted.catch(() => null) }]
}
