import { hash } from 'node:crypto'
import type { EventDocument } from '../event-document.ts'

/** Whether the body was removed. An empty form may be signed: only its hash distinguishes it from a removed body. */
export function isBodyGone({ raw, bodyHash }: Pick<EventDocument, 'raw' | 'bodyHash'>): boolean {
  const rawBody = raw.value()
  return rawBody.length === 0 && bodyHash !== hash('sha256', rawBody, 'base64')
}
