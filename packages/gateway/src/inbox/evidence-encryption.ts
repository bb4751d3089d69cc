import type { Encryption, Place } from '@oncehook/kernel/encryption'
import { Binary } from 'mongodb'
import { EVENTS, type EventDocument } from './event-document.ts'

/** What a record holds of its delivery, as it is stored. */
export type StoredEvidence = Pick<EventDocument, 'raw' | 'headers' | 'query' | 'sealed'>

/** What a delivery proves; `raw` is empty where the body is stored apart. */
interface Evidence {
  readonly raw: Binary
  readonly headers: EventDocument['headers']
  /** Empty where there was none. */
  readonly query: string
}

/** What a record has in place of a body that is stored elsewhere, or not at all. */
export const NO_BODY = new Binary(Buffer.alloc(0))

/** The members of a record that hold the evidence: encrypted in one member, or in clear where encryption is off. */
export function storeEvidence(
  id: EventDocument['_id'],
  { raw, headers, query }: Evidence,
  encryption: Encryption,
): StoredEvidence {
  const asked = query === '' ? {} : { query }
  // Asked first: without keys nothing is put together.
  if (encryption.firstKey === null) return { raw, headers, ...asked }
  const head = Buffer.from(`${JSON.stringify({ headers, ...asked })}\n`)
  const sealed = encryption.seal(Buffer.concat([head, raw.value()]), placeOf(id))
  return sealed === null ? { raw, headers, ...asked } : { raw: NO_BODY, headers: {}, sealed }
}

/**
 * The record with its evidence in clear; one that was stored in clear is given back as it is.
 * @throws keyUnknown, recordAltered
 */
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

// JSON has none inside.
const LINE_END = 0x0a

function placeOf(id: EventDocument['_id']): Place {
  return { collection: EVENTS, id: String(id), field: 'sealed' }
}
