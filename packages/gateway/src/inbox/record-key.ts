import type { Document } from 'mongodb'

/** The key of a record. */
export interface RecordKey {
  readonly provider: string
  readonly eventId: string
  readonly handler: string
}

/** A key as text, unique among all keys: the name of a provider contains no line break. */
export function nameOfKey({ provider, eventId, handler }: RecordKey): string {
  return `${provider}\n${eventId}\n${handler}`
}

/** The filter that names one record by its key. */
export function nameByKey({ provider, eventId, handler }: RecordKey): Document {
  return { provider, eventId, handler }
}
