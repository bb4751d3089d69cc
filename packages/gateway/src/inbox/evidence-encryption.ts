import type { Encryption, Place } from '@oncehook/kernel/secrets/encryption'
import { EVENTS } from '@oncehook/queue/task'
import { Binary } from 'mongodb'
import type { EventDocument } from './event-document.ts'

export type StoredEvidence = Pick<EventDocument, 'raw' | 'headers' | 'query' | 'sealed'>

/** The evidence of a delivery. `raw` is empty if the body is stored separately. */
interface Evidence {
  readonly raw: Binary
  readonly headers: EventDocument['headers']
  readonly query: string
}

/** The body field of a record whose body is stored elsewhere, or not at all. */
export const NO_BODY = new Binary(Buffer.alloc(0))

/** The fields of a record that hold the evidence: one encrypted field, or plaintext if encryption is off. */
export function storeEvidence(
  id: EventDocument['_id'],
  { raw, headers, query }: Evidence,
  encryption: Encryption,
): StoredEvidence {
  const asked = query === '' ? {} : { query }
  // Checked first: without keys, no buffer is built.
  if (encryption.firstKey === null) return { raw, headers, ...asked }
  const head = Buffer.from(`${JSON.stringify({ headers, ...asked })}\n`)
  const sealed = encryption.seal(Buffer.concat([head, raw.value()]), placeOf(id))
  return sealed === null ? { raw, headers, ...asked } : { raw: NO_BODY, headers: {}, sealed }
}

/** An unencrypted record is returned as it is. @throws keyUnknown, recordAltered */
export function openEvidence(record: EventDocument, encryption: Encryption): EventDocument {
  const { sealed, ...rest } = record
  if (sealed === undefined) return record
  const plain = encryption.open(sealed, placeOf(record._id))
  const end = plain.indexOf(LINE_END)
  const { headers, query }: Omit<Evidence, 'raw' | 'query'> & { query?: string } = JSON.parse(
    plain.toString('utf8', 0, end),
  )
  return { ...rest, raw: new Binary(plain.subarray(end + 1)), headers, ...(query === undefined ? {} : { query }) }
}

// JSON contains none.
const LINE_END = 0x0a

function placeOf(id: EventDocument['_id']): Place {
  return { collection: EVENTS, id: String(id), field: 'sealed' }
}
