import { setTimeout as sleep } from 'node:timers/promises'
import { EVENTS } from '@oncehook/queue/task'
import type { Db, Filter } from 'mongodb'

/** The properties of a stored event that the benchmark reads. */
interface StoredEvent {
  readonly eventId: string
  /** The payment, and the order that it pays. Only our own records have them. */
  readonly objectId?: string
  readonly orderId?: string
}

const CHUNK = 10_000
const POLL_MS = 20
const TIMEOUT_MS = 120_000

/**
 * Finds the events with these ids among those that match the filter. It asks for them in chunks, because the ids of a
 * million events are too many for one command.
 */
export async function findStored(db: Db, filter: object, eventIds: readonly string[]): Promise<StoredEvent[]> {
  const unique = [...new Set(eventIds)]
  const projection = { _id: 0, eventId: 1, objectId: 1, orderId: 1 }
  const found: StoredEvent[] = []
  for (let from = 0; from < unique.length; from += CHUNK) {
    const among: Filter<StoredEvent> = { ...filter, eventId: { $in: unique.slice(from, from + CHUNK) } }
    for await (const event of db.collection<StoredEvent>(EVENTS).find(among, { projection })) found.push(event)
  }
  return found
}

/** Waits until the gateway has nothing pending and nothing in progress: of all records, or of those with this handler. */
export async function waitUntilSettled(gateway: Db, of: { readonly handler?: string } = {}): Promise<void> {
  const events = gateway.collection(EVENTS)
  const deadline = performance.now() + TIMEOUT_MS
  for (;;) {
    // One query per state, because each state has its own index.
    const open =
      (await events.findOne({ ...of, state: 'processing' })) ?? (await events.findOne({ ...of, state: 'pending' }))
    if (open === null) return
    if (performance.now() > deadline) throw new Error('Events were not settled within two minutes')
    await sleep(POLL_MS)
  }
}
