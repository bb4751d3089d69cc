import { setTimeout as sleep } from 'node:timers/promises'
import { EVENTS, type EventDocument } from '@oncehook/gateway/inbox/event-document'
import type { Db } from 'mongodb'

const POLL_MS = 20
const TIMEOUT_MS = 120_000

/** Waits until the gateway has nothing pending and nothing in progress: of all records, or of those with this handler. */
export async function waitUntilSettled(gateway: Db, of: { readonly handler?: string } = {}): Promise<void> {
  const events = gateway.collection<EventDocument>(EVENTS)
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
