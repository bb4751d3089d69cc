import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Cause } from '@oncehook/webhooks/providers'
import type { ObjectId } from 'mongodb'

/** A slot for a record. The next record of the same ring with this slot replaces it. */
interface RefusalPlace {
  readonly provider: string
  /** Deliveries of one kind share a ring, so that a flood of one kind replaces no record of another. */
  readonly ring: string
  /** From 0; -1 for the count of deliveries without a record. */
  readonly slot: number
}

/** The properties that all records of a ring share. */
interface RefusalKind {
  readonly provider: string
  /** The error code of the answer. */
  readonly reason: string
  /** Why the delivery was not authentic, if that is known. */
  readonly why: string | null
}

/** Facts about a refused delivery, without its body and signature. */
export interface Refusal extends RefusalKind {
  /** In the order of the refusals. */
  readonly id: ObjectId
  readonly at: Date
  /** The HTTP status of the answer. */
  readonly status: number
  /** The public message of the error. It names properties, never values. */
  readonly message: string
  /** The network of the sender: /24 of IPv4, /48 of IPv6. Null if the connection had ended. */
  readonly network: string | null
  /** The bytes of the body: those that were read, otherwise those that the sender announced. Null if there is neither. */
  readonly bytes: number | null
  /** The secrets with which the signature was compared, by id. */
  readonly secretIds: readonly string[]
  /** What the command `explain` would say, as far as this can be found without asking anybody; the most likely first. */
  readonly causes: readonly Cause[]
  readonly requestId: string
  readonly headers: readonly ShownHeader[]
  /** The headers in which the scheme expects the signature. Their values are never kept. */
  readonly signatureHeaders: readonly { readonly name: string; readonly isPresent: boolean }[]
}

/** A header whose value is kept, shortened and without control characters. */
export interface ShownHeader {
  readonly name: string
  readonly value: string
}

/** The stored form of a refused delivery. */
export interface RefusalDocument extends Refusal {
  readonly _id: RefusalPlace
  readonly expireAt: Date
}

/** How many deliveries of a ring were refused without a record, and how many slots the processes have taken so far. */
export interface NotKeptDocument extends RefusalKind {
  readonly _id: RefusalPlace
  readonly taken?: number
  readonly count?: number
  readonly since: Date
  readonly lastAt: Date
  readonly expireAt: Date
}

/** The collection of refused deliveries. */
export const REFUSALS = 'refusals'

/** The indexes that lists of refused deliveries and their expiry need. */
export const REFUSAL_INDEXES: NeededIndexes = {
  collection: REFUSALS,
  indexes: [
    { name: 'newest', key: { id: -1 } },
    { name: 'provider', key: { provider: 1, id: -1 } },
    { name: 'not_kept', key: { count: 1 }, sparse: true },
    { name: 'expiry', key: { expireAt: 1 }, expireAfterSeconds: 0 },
  ],
}
