import { createHash } from 'node:crypto'
import type { Task } from './store.ts'

/** Many services refuse a longer idempotency key. */
const MAX_BYTES = 255

/** The key of a message: the name of the handler, the key of the event and the position of the message. SHA-256 shortens a long one. */
export function messageKey({ handler, key }: Task<never>, position: number): string {
  const text = `${handler}:${key}:${position}`
  return Buffer.byteLength(text) <= MAX_BYTES ? text : createHash('sha256').update(text).digest('hex')
}
