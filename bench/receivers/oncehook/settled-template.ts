import { EVENTS, type EventDocument } from '@oncehook/gateway/inbox/event-document'
import { startSender } from '../../load/sender.ts'
import type { Setup } from '../receiver.ts'
import { startPaying } from './oncehook-paying.ts'

/** Processes one event from delivery to settlement, and returns its record as the gateway stored and settled it. */
export async function settledTemplate(
  setup: Setup,
  { run, signal }: { readonly run: string; readonly signal: AbortSignal },
): Promise<EventDocument> {
  await using receiver = await startPaying(setup, run)
  using sender = await startSender(signal)
  const orderPrefix = `${run}-`
  await receiver.prepare?.(orderPrefix, 1)
  await sender.sign({ url: receiver.url, secret: setup.secret, count: 1, mix: 'unique', orderPrefix })
  await sender.send({ kind: 'closed', connections: 1, forMs: 10_000 })
  await receiver.settled?.()
  const record = await receiver.gatewayDb.collection<EventDocument>(EVENTS).findOne({ state: 'done' })
  if (record === null) throw new Error('One event did not go the whole way')
  return record
}
