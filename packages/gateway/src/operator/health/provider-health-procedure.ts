import type { Provider } from '@oncehook/webhooks/providers'
import { z } from 'zod'
import { sentHandlers } from '../../handlers/sent-handlers.ts'
import { readInboxDepth } from '../../inbox/statistics/inbox-depth.ts'
import { PROVIDER_STATS, type ProviderCounter } from '../../inbox/statistics/provider-stats.ts'
import type { SearchBudget } from '../events/find-newest.ts'
import { procedure, SEARCH_MS } from '../operator-trpc.ts'
import { countReceived } from './count-received.ts'
import { silenceOf } from './provider-silence.ts'

const BUDGET: SearchBudget = { ms: 1_000, now: () => performance.now() }
const ENDS_SOON_MS = 14 * 86_400_000

/**
 * `providers.health`: for each configured provider its last authentic delivery, how many of its events were stored
 * within the last minute and hour, its refused deliveries so far by reason, the age in seconds of its oldest unsettled
 * event, whether it is silent for longer than usual, and its secrets that expire within 14 days. Counting is limited to
 * 1 s: if there were too many events, `countedFrom` is later than an hour ago. Counts and ages are null if the database
 * did not return them in time.
 */
export const providerHealthProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const { db, clock } = ctx
  const now = clock.now()
  const [stats, { oldest }, received] = await Promise.all([
    db.collection<ProviderCounter>(PROVIDER_STATS).find({}, { maxTimeMS: SEARCH_MS }).limit(10_000).toArray(),
    readInboxDepth(db, sentHandlers(ctx.handlers?.(), ctx.handlerPauses.current)),
    countReceived(db, now, BUDGET).catch(() => null),
  ])
  const byProvider = Map.groupBy(stats, ({ _id }) => _id.provider)
  const none = received === null ? null : 0
  return {
    countedFrom: received?.countedFrom.toISOString() ?? null,
    providers: [...ctx.providers().values()].map((provider) => ({
      ...showHealth(provider, byProvider.get(provider.name) ?? [], now),
      lastMinute: received?.byProvider.get(provider.name)?.lastMinute ?? none,
      lastHour: received?.byProvider.get(provider.name)?.lastHour ?? none,
      oldestUnsettledSeconds: oldest === null ? null : (oldest.get(provider.name) ?? 0),
    })),
  }
})

// Every other outcome of a delivery is the code of a refusal.
const NOT_REFUSED = ['recorded', 'duplicate', 'unhandled', 'handshake', 'asked_in_vain']

function showHealth({ name, secrets }: Provider, stats: readonly ProviderCounter[], now: number) {
  const { lastDeliveryAt, usualGapMs, silentSince } = silenceOf(stats, now)
  const refused = stats.filter(({ _id }) => _id.kind === 'delivery' && !NOT_REFUSED.includes(_id.name))
  const lastMatch = new Map(
    stats.filter(({ _id }) => _id.kind === 'secret').map(({ _id, lastAt }) => [_id.name, lastAt]),
  )
  return {
    name,
    lastDeliveryAt: lastDeliveryAt?.toISOString() ?? null,
    silentSince: silentSince?.toISOString() ?? null,
    usualGapSeconds: usualGapMs === null ? null : Math.round(usualGapMs / 1_000),
    refused: refused.map(({ _id, count, lastAt }) => ({ reason: _id.name, count, lastAt: lastAt.toISOString() })),
    secretsEnding: secrets.flatMap(({ id, notAfter }) =>
      notAfter !== null && notAfter > now && notAfter - now <= ENDS_SOON_MS
        ? [{ id, notAfter: new Date(notAfter).toISOString(), lastMatchedAt: lastMatch.get(id)?.toISOString() ?? null }]
        : [],
    ),
  }
}
