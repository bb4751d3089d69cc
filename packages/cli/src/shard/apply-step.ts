import { KEY_INDEX, SLOT_KEY_INDEX } from '@oncehook/gateway/inbox/event-document'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { type Db, MinKey } from 'mongodb'
import { type Cluster, COLLECTIONS } from './cluster.ts'
import { fillSlots, forgetWalk } from './fill-slots.ts'
import { type ClusterState, REQUIRES_SLOTS } from './observe-cluster.ts'
import { boundariesFor, type StepName } from './plan-sharding.ts'

/** Where a step is applied. */
export interface StepPlace {
  readonly cluster: Cluster
  /** As observed before the step. */
  readonly state: ClusterState
  /** Gets a line now and then while a long step continues. */
  readonly report: (line: string) => void
}

/** Applies a step. It is safe to repeat, also after an interruption. */
export async function applyStep(name: StepName, place: StepPlace): Promise<void> {
  await APPLY[name](place)
}

const APPLY: Readonly<Record<StepName, (place: StepPlace) => Promise<void>>> = {
  // Older records may still be changed, until they have their slots.
  'require-slots': async ({ cluster: { gateway } }) => {
    // Records without a slot may have come since an earlier walk, if somebody took this rule away.
    await forgetWalk(gateway)
    const rule = { validator: REQUIRES_SLOTS, validationLevel: 'moderate', validationAction: 'error' }
    await gateway.command({ collMod: COLLECTIONS.events, ...rule })
  },
  'fill-slots': ({ cluster: { gateway }, report }) =>
    fillSlots(gateway, (examined) => report(`${examined} records examined`)),
  'unique-key': ({ cluster: { gateway } }) =>
    ensureIndexes(gateway, [{ collection: COLLECTIONS.events, indexes: [SLOT_KEY_INDEX] }]),
  // The other unique index does the deduplication meanwhile. A sharded collection can have no unique index but that one.
  'plain-key': async ({ cluster: { gateway }, state }) => {
    if (state.events.keyIndex === 'unique') await gateway.collection(COLLECTIONS.events).dropIndex(KEY_INDEX.name)
    await ensureIndexes(gateway, [{ collection: COLLECTIONS.events, indexes: [{ ...KEY_INDEX, unique: false }] }])
  },
  'shard-events': async ({ cluster: { admin, gateway } }) => {
    const namespace = `${gateway.databaseName}.${COLLECTIONS.events}`
    await admin.command({ shardCollection: namespace, key: SLOT_KEY_INDEX.key, unique: true })
  },
  'split-events': async ({ cluster: { admin, gateway }, state }) => {
    const split = `${gateway.databaseName}.${COLLECTIONS.events}`
    for (const slot of boundariesFor(state.shards.length)) {
      if (state.events.boundaries.includes(slot)) continue
      await admin.command({ split, middle: { slot, provider: new MinKey(), eventId: new MinKey() } })
    }
  },
  // Only an operator knows that no process without reservations runs: the plan says what to do.
  'free-orders': async () => undefined,
  'shard-payments': ({ cluster: { admin, fulfilment } }) => shardById(admin, fulfilment, COLLECTIONS.payments),
  'shard-orders': ({ cluster: { admin, fulfilment } }) => shardById(admin, fulfilment, COLLECTIONS.orders),
}

async function shardById(admin: Db, db: Db, name: string): Promise<void> {
  await db.collection(name).createIndex({ _id: 'hashed' })
  await admin.command({ shardCollection: `${db.databaseName}.${name}`, key: { _id: 'hashed' } })
}
