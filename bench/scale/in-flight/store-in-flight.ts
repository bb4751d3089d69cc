import { EVENTS } from '@oncehook/gateway/inbox/event-document'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { Binary, type Db } from 'mongodb'
import { fillStored } from '../../receivers/oncehook/fill-stored.ts'

/** Records in process, in equal shares of some processes. */
export interface InFlight {
  readonly owners: readonly string[]
  readonly count: number
}

const HOUR_MS = 3_600_000
// No command of this measurement reads a body.
const BODY_BYTES = 100

/** Stores records as gateways hold them. It writes directly, because accepting them is not part of the measurement. */
export async function storeInFlight(db: Db, { owners, count }: InFlight): Promise<void> {
  const raw = new Binary(Buffer.alloc(BODY_BYTES, 'x'))
  const { settledAt: _, ...template } = sampleRecord({ state: 'processing', type: 'payment.succeeded', raw })
  const change = (__: unknown, index: number) => ({
    leaseOwner: owners[index % owners.length] ?? '',
    leaseUntil: new Date(0),
  })
  await fillStored(db, { template, count, change })
}

/** Says that processes live for the next hour, or that they died an hour ago. */
export async function declareOwners(db: Db, owners: readonly string[], fate: 'living' | 'dead'): Promise<void> {
  const aliveUntil = new Date(Date.now() + (fate === 'living' ? HOUR_MS : -HOUR_MS))
  const documents = owners.map((_id) => ({ _id, aliveAt: new Date(), aliveUntil, leaseMs: HOUR_MS }))
  await db.collection<{ readonly _id: string }>('owners').insertMany(documents)
}

/** How many records these processes hold. */
export function countHeld(db: Db, owners: readonly string[]): Promise<number> {
  return db.collection(EVENTS).countDocuments({ state: 'processing', leaseOwner: { $in: [...owners] } })
}
