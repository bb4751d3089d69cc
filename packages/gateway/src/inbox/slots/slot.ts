import { hash } from 'node:crypto'

/** The number of slots. Every record belongs to one, by its key. */
export const SLOTS = 4_096

/** The key of a record. */
export interface RecordKey {
  readonly provider: string
  readonly eventId: string
  /** Of a task of a handler. It does not decide about the slot: all tasks of an event have the same. */
  readonly handler?: string | undefined
}

/**
 * The slot of a record: 0 to 4095, the first 12 bits of the SHA-256 of its key. It never changes, and keys of any form
 * spread evenly. The name of a provider contains no line break, so different keys give different texts.
 */
export function slotOf({ provider, eventId }: RecordKey): number {
  return Number.parseInt(hash('sha256', `${provider}\n${eventId}`, 'hex').slice(0, 3), 16)
}
