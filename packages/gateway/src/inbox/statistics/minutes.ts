import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Clock } from '@oncehook/kernel/time/clock'
import { oneAtATime } from '@oncehook/kernel/time/waits'
import { type Attempt, EVENTS, STATE_INDEX } from '@oncehook/queue/task'
import { type Db, ObjectId } from 'mongodb'
import type { Counter, Histogram, Registry } from 'prom-client'

/** What the processes of all gateways counted in a minute, added up. They are statistics, not promises. */
export interface MinuteDocument {
  /** The beginning of the minute. */
  readonly _id: Date
  /** Authentic events. */
  readonly received: number
  /** Refused deliveries by the code of the answer. */
  readonly refused?: Readonly<Record<string, number>>
  /** Deliveries answered with 200, by the place of their bucket in `oncehook_request_seconds`. */
  readonly answered?: Readonly<Record<string, number>>
  /** Attempts that failed, by code. */
  readonly failed?: Readonly<Record<string, number>>
  /** Pending tasks at its end, by the ages of `WAITING_AGES`, the youngest first. */
  readonly waiting?: readonly number[]
  readonly expireAt: Date
}

export const MINUTES = 'minutes'

/** The index that the expiry of minutes needs. */
export const MINUTE_INDEXES: NeededIndexes = {
  collection: MINUTES,
  indexes: [{ name: 'expiry', key: { expireAt: 1 }, expireAfterSeconds: 0 }],
}

export const MINUTE_MS = 60_000
const RETENTION_MS = 14 * 86_400_000

/** The ages in seconds that separate the groups of waiting tasks. */
export const WAITING_AGES = [60, 600, 3_600]

/** Counts by the path of their member in a document. */
type Counts = ReadonlyMap<string, number>

interface Unwritten {
  readonly minute: number
  readonly counts: Counts
}

// An hour without the database leaves no gap.
const MOST_UNWRITTEN = 60

/**
 * Stores what each minute added to the counters of this process. It reads them once a minute, so it costs a delivery nothing. What a
 * crash loses is at most a minute of the picture.
 */
export function createMinutes(source: { db: Db; registry: Registry; clock: Clock; onError: (error: unknown) => void }) {
  const { db, registry, clock, onError } = source
  const failed = new Map<string, number>()
  const now = (): number => Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS
  let timer: NodeJS.Timeout | undefined
  let minute = now()
  let before: Counts = new Map()
  let unwritten: Unwritten[] = []
  const take = async (): Promise<void> => {
    const counts = await readCounts(registry, failed)
    const added = [...counts].map(([path, count]) => [path, count - (before.get(path) ?? 0)] as const)
    unwritten.push({ minute, counts: new Map(added.filter(([, count]) => count > 0)) })
    unwritten = unwritten.slice(-MOST_UNWRITTEN)
    before = counts
    minute = now()
  }
  const write = oneAtATime(async () => {
    for (let first = unwritten[0]; first !== undefined; first = unwritten[0]) {
      const written = first
      const isNew = await writeMinute(db, written)
      unwritten = unwritten.filter((one) => one !== written)
      if (isNew && clock.now() - written.minute < 2 * MINUTE_MS) await writeWaiting(db, written.minute, clock.now())
    }
  })
  /** Stores what was counted since the last call. Never throws: what the database does not take is stored later. */
  const flush = (): Promise<void> => take().then(write).catch(onError)
  const wait = (): void => {
    timer = setTimeout(
      () => {
        void flush()
        wait()
      },
      MINUTE_MS - (clock.now() % MINUTE_MS) + LATE_MS,
    )
    timer.unref()
  }
  return {
    /** Counts an attempt if it failed. */
    settled({ code }: Pick<Attempt, 'code'>): void {
      if (code === null) return
      const name = PLAIN.test(code) && (failed.has(code) || failed.size < MOST_CODES) ? code : OTHERS
      failed.set(name, (failed.get(name) ?? 0) + 1)
    },
    /** Stores each minute from now on. */
    start: wait,
    flush,
    async stop(): Promise<void> {
      if (timer === undefined) return
      clearTimeout(timer)
      await flush()
    },
  }
}

// A timer may fire a little before its time.
const LATE_MS = 50
// A handler chooses codes.
const PLAIN = /^\w{1,64}$/
const MOST_CODES = 50
/** The name of all codes beyond those that are counted one by one. */
export const OTHERS = 'others'

// What is neither an event nor a refusal.
const NEITHER = ['handshake', 'asked_in_vain']
const RECEIVED = ['recorded', 'duplicate', 'unhandled']

async function readCounts(registry: Registry, failed: Counts): Promise<Counts> {
  const counts = new Map<string, number>()
  const add = (path: string, count: number): void => void counts.set(path, (counts.get(path) ?? 0) + count)
  for (const [code, count] of failed) add(`failed.${code}`, count)
  const deliveries = registry.getSingleMetric('oncehook_deliveries_total') as Counter<'outcome'> | undefined
  for (const { labels, value } of (await deliveries?.get())?.values ?? []) {
    const { outcome = '' } = labels
    if (RECEIVED.includes(String(outcome))) add('received', value)
    else if (!NEITHER.includes(String(outcome))) add(`refused.${outcome}`, value)
  }
  const times = registry.getSingleMetric('oncehook_request_seconds') as Histogram<'route' | 'status'> | undefined
  const buckets = ((await times?.get())?.values ?? []).filter(
    ({ metricName = '', labels }) =>
      metricName.endsWith('_bucket') && labels.route === '/api/webhooks/{provider}' && String(labels.status) === '200',
  )
  // Each bucket has those before it too.
  for (const [place, { value }] of buckets.entries()) add(`answered.${place}`, value - (buckets[place - 1]?.value ?? 0))
  return counts
}

const WRITE_MS = 2_000

/** Adds counts to their minute. Resolves to whether it is new. */
async function writeMinute(db: Db, { minute, counts }: Unwritten): Promise<boolean> {
  const found = await db.collection<MinuteDocument>(MINUTES).findOneAndUpdate(
    { _id: new Date(minute) },
    {
      $inc: { received: 0, ...Object.fromEntries(counts) },
      $setOnInsert: { expireAt: new Date(minute + RETENTION_MS) },
    },
    { upsert: true, projection: { _id: 1 }, maxTimeMS: WRITE_MS },
  )
  return found === null
}

/** Stores how many tasks wait. A minute in which the database could not count them has none. */
async function writeWaiting(db: Db, minute: number, now: number): Promise<void> {
  const borders = [...WAITING_AGES.map((age) => idOf(now - age * 1_000)), idOf(0)]
  const bucket = { groupBy: '$_id', boundaries: borders.toReversed(), default: null }
  const options = { hint: STATE_INDEX, maxTimeMS: WRITE_MS }
  const counted = await db
    .collection(EVENTS)
    .aggregate<{ _id: ObjectId | null; count: number }>(
      [{ $match: { state: 'pending' } }, { $bucket: bucket }],
      options,
    )
    .toArray()
    .catch(() => null)
  if (counted === null) return
  const byBorder = new Map(counted.map(({ _id, count }) => [String(_id), count]))
  const waiting = [null, ...borders.slice(1)].map((border) => byBorder.get(String(border)) ?? 0)
  await db
    .collection<MinuteDocument>(MINUTES)
    .updateOne({ _id: new Date(minute) }, { $set: { waiting } }, { maxTimeMS: WRITE_MS })
}

function idOf(at: number): ObjectId {
  return ObjectId.createFromTime(Math.floor(at / 1_000))
}
