import type { Document } from 'mongodb'

/** The key of a record: of the task of a handler, or without one of fulfilment. */
export interface RecordKey {
  readonly provider: string
  readonly eventId: string
  readonly handler?: string | undefined
}

/** A key as text, unique among all keys: the name of a provider contains no line break. */
export function nameOfKey({ provider, eventId, handler }: RecordKey): string {
  const name = `${provider}\n${eventId}`
  return handler === undefined ? name : `${name}\n${handler}`
}

/** The filter that names one record by its key. */
export function nameByKey({ provider, eventId, handler }: RecordKey): Document {
  return { provider, eventId, handler: handler ?? null }
}
