import { SLOT_KEY_INDEX } from '@oncehook/gateway/inbox/event-document'
import { SLOTS } from '@oncehook/gateway/inbox/slots/slot'
import type { ClusterState } from './observe-cluster.ts'

/** What a step does. */
export type StepName =
  | 'require-slots'
  | 'fill-slots'
  | 'unique-key'
  | 'plain-key'
  | 'shard-events'
  | 'split-events'
  | 'free-orders'
  | 'shard-payments'
  | 'shard-orders'

/** One step of the sharding. Steps are idempotent, and each needs those before it in its database. */
export interface ShardingStep {
  readonly name: StepName
  readonly collection: string
  readonly does: string
  /** `waiting`: an earlier step is blocked. */
  readonly state: 'done' | 'open' | 'blocked' | 'waiting'
  /** Why it is blocked, and what to do. */
  readonly why: string | null
}

type Draft = Omit<ShardingStep, 'state' | 'why'> & { readonly isDone: boolean; readonly obstacle?: string | null }

/** Says what is left to do, in order. */
export function planSharding(state: ClusterState): readonly ShardingStep[] {
  return [...inOrder(draftEvents(state)), ...inOrder(draftOrders(state))]
}

function inOrder(drafts: readonly Draft[]): ShardingStep[] {
  let isBlocked = false
  return drafts.map(({ isDone, obstacle = null, ...step }) => {
    if (isDone) return { ...step, state: 'done', why: null }
    if (isBlocked) return { ...step, state: 'waiting', why: null }
    if (obstacle === null) return { ...step, state: 'open', why: null }
    isBlocked = true
    return { ...step, state: 'blocked', why: obstacle }
  })
}

const HASHED = JSON.stringify({ _id: 'hashed' })

function draftEvents({ shards, events }: ClusterState): Draft[] {
  const collection = 'events'
  const isSharded = isKeyed(events.shardKey, JSON.stringify(SLOT_KEY_INDEX.key))
  const missing = boundariesFor(shards.length).filter((slot) => !events.boundaries.includes(slot))
  return [
    {
      ...{
        name: 'require-slots',
        collection,
        does: 'refuse new records without a slot, as gateways of 0.1.0 store them',
      },
      isDone: events.requires === 'slots',
      obstacle: slotsObstacle(events),
    },
    { name: 'fill-slots', collection, does: 'give every older record its slot', isDone: events.isFilled },
    {
      ...{ name: 'unique-key', collection, does: 'create the unique index { slot, provider, eventId }' },
      isDone: events.hasSlotKey,
      obstacle: events.hasTasks ? HAS_TASKS : null,
    },
    {
      ...{ name: 'plain-key', collection, does: 'create the index { provider, eventId } again, no longer unique' },
      isDone: events.keyIndex === 'plain',
    },
    {
      ...{ name: 'shard-events', collection, does: 'shard by { slot, provider, eventId }' },
      isDone: isSharded,
      obstacle: keyObstacle(events.shardKey),
    },
    {
      ...{ name: 'split-events', collection, does: 'split into chunks of equal slots, which the balancer spreads' },
      isDone: isSharded && missing.length === 0,
    },
  ]
}

function draftOrders({ orders, payments }: ClusterState): Draft[] {
  return [
    {
      ...{
        name: 'free-orders',
        collection: 'orders',
        does: 'prevent second effects of a payment without a unique index',
      },
      isDone: !orders.hasPaymentIndex,
      obstacle: NEEDS_RESERVATIONS,
    },
    {
      ...{ name: 'shard-payments', collection: 'payments', does: 'shard by { _id: hashed }' },
      isDone: isKeyed(payments.shardKey, HASHED),
      obstacle: keyObstacle(payments.shardKey),
    },
    {
      ...{ name: 'shard-orders', collection: 'orders', does: 'shard by { _id: hashed }' },
      isDone: isKeyed(orders.shardKey, HASHED),
      obstacle: keyObstacle(orders.shardKey),
    },
  ]
}

const NEEDS_RESERVATIONS =
  'the unique index payment_pays_one_order does not permit it. Set PAYMENT_GUARD=reservation for fulfilment, wait until ' +
  'it has reserved all payments, and drop the index, as docs/operations.md describes'

const HAS_TASKS =
  'it has tasks of handlers. Shard first, and set HANDLERS afterwards: docs/handlers.md says what works together'

function slotsObstacle({ exists, requires, lastWithoutSlot }: ClusterState['events']): string | null {
  if (!exists) return 'there is no collection yet. Start a gateway first'
  if (requires === 'other') return 'the collection has a validator of someone else. Remove it first'
  if (lastWithoutSlot === null) return null
  const at = lastWithoutSlot.toISOString()
  return `a gateway of 0.1.0 stored an event at ${at}. Upgrade every gateway, and try again ten minutes later`
}

function keyObstacle(shardKey: object | null): string | null {
  return shardKey === null ? null : `it is sharded by another key, ${JSON.stringify(shardKey)}`
}

function isKeyed(shardKey: object | null, key: string): boolean {
  return shardKey !== null && JSON.stringify(shardKey) === key
}

const CHUNKS_PER_SHARD = 4
// Statements name records in groups of this many neighbouring slots, so a chunk holds whole groups.
const GROUP = 64

/** The slots at which chunks begin, besides the first one: four chunks for each shard. */
export function boundariesFor(shards: number): readonly number[] {
  const groups = SLOTS / GROUP
  const chunks = Math.min(groups, Math.max(1, shards) * CHUNKS_PER_SHARD)
  return Array.from({ length: chunks - 1 }, (_, index) => Math.round(((index + 1) * groups) / chunks) * GROUP)
}
