import { EVENTS, type EventDocument } from '@oncehook/gateway/inbox/event-document'
import { startSender } from '../load/sender.ts'
import { startPaying } from './oncehook-paying.ts'
import type { Laboratory } from './subject.ts'

/** Lets one event go the whole way, and answers its record as the gateway stored and settled it. */
export async function settledTemplate(
  laboratory: Laboratory,
  { run, signal }: { readonly run: string; readonly signal: AbortSignal },
): Promise<EventDocument> {
  await using subject = await startPaying(laboratory, run)
  using sender = await startSender(signal)
  const orderPrefix = `${run}-`
  await subject.prepare?.(orderPrefix, 1)
  await sender.sign({ url: subject.url, secret: laboratory.secret, count: 1, mix: 'unique', orderPrefix })
  await sender.send({ kind: 'closed', connections: 1, forMs: 10_000 })
  await subject.settled?.()
  const record = await subject.gatewayDb.collection<EventDocument>(EVENTS).findOne({ state: 'done' })
  if (record === null) throw new Error('One event did not go the whole way')
  return record
}
