import type { Db } from 'mongodb'
import { PROVIDER_STATS, type ProviderCounter } from '../inbox/statistics/provider-stats.ts'
import type { Providers } from '../providers/read-providers.ts'

/** A secret that still matches deliveries and expires soon. */
export interface ExpiringSecret {
  readonly provider: string
  readonly secretId: string
  readonly notAfter: string
  readonly lastMatchedAt: string
}

const SOON_MS = 7 * 86_400_000
const STILL_USED_MS = 86_400_000

/** Finds secrets that expire within seven days of `now` (milliseconds) and have matched within the day before it. */
export async function findExpiringSecrets(db: Db, providers: Providers, now: number): Promise<ExpiringSecret[]> {
  const used = await db
    .collection<ProviderCounter>(PROVIDER_STATS)
    .find({ '_id.kind': 'secret' })
    .limit(10_000)
    .toArray()
  const lastMatch = new Map(used.map(({ _id, lastAt }) => [`${_id.provider}\n${_id.name}`, lastAt]))
  return [...providers.values()].flatMap(({ name, secrets }) =>
    secrets.flatMap(({ id, notAfter }) => {
      const lastAt = lastMatch.get(`${name}\n${id}`)
      const ends = notAfter !== null && notAfter > now && notAfter - now <= SOON_MS
      if (!ends || lastAt === undefined || now - lastAt.getTime() > STILL_USED_MS) return []
      return [
        {
          provider: name,
          secretId: id,
          notAfter: new Date(notAfter).toISOString(),
          lastMatchedAt: lastAt.toISOString(),
        },
      ]
    }),
  )
}
