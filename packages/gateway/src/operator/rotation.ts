import { invalidRequest } from '@oncehook/kernel/error-codes'
import type { RetiredKeys } from '@oncehook/kernel/mongo/key-register'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import type { RotationCounts, RotationPart } from '@oncehook/kernel/mongo/rotation'
import type { Collection } from 'mongodb'
import { encryptionKeyDiffers, encryptionOff } from '../errors.ts'
import { ask } from '../http/order-requests.ts'
import { type RotationRequest, rotateBodies, rotateEvents } from '../inbox/retention/rotate-evidence.ts'
import type { OperatorContext } from './operator-trpc.ts'

/** What a call of a rotation did, or would do, and where the next one begins. `next` is null if nothing is left. */
export interface RotationAnswer extends RotationCounts {
  readonly next: string | null
  /** The first key of the gateway. */
  readonly key: string
  /** At the end: other keys with which a process has encrypted since the rotation began. They are still needed. */
  readonly inUse?: readonly string[]
}

/** A rotation works with one key, even if the file changes in the meantime. */
interface PinnedContext extends OperatorContext {
  readonly key: string
}

/** @throws encryptionOff */
function pin(ctx: OperatorContext): PinnedContext {
  const encryption = ctx.encryption.pin()
  const { firstKey: key } = encryption
  if (key === null) throw encryptionOff()
  return { ...ctx, encryption, key }
}

type Rotate = (ctx: PinnedContext, request: RotationRequest) => Promise<RotationPart>

/** The collections in their order, each with the function that rotates a part of it. */
const STAGES: readonly (readonly [collection: string, rotate: Rotate])[] = [
  ['events', rotateEvents],
  ['bodies', rotateBodies],
  ['orders', rotateInFulfilment('orders')],
  ['idempotency_keys', rotateInFulfilment('idempotency_keys')],
]

function rotateInFulfilment(collection: 'orders' | 'idempotency_keys'): Rotate {
  return ({ fulfilment, requestId, key }, request) =>
    ask(fulfilment.encryption.rotate.mutate({ collection, key, ...request }, { context: { requestId } }))
}

/** The progress of the latest rotation. */
interface RotationProgress extends Omit<RotationCounts, 'altered'> {
  readonly altered?: number
  readonly _id: 'last'
  readonly key: string
  readonly position: string
  readonly by: string
  readonly startedAt: Date
  /** Null until it is finished. */
  readonly finishedAt: Date | null
}

const FIRST = 'events:'

/**
 * Counts a part of what a rotation would change.
 * @throws encryptionOff, encryptionKeyDiffers
 */
export async function dryRunPart(context: OperatorContext, position = FIRST): Promise<RotationAnswer> {
  const ctx = pin(context)
  return { ...(await runPart(ctx, position, true)), key: ctx.key }
}

/**
 * Runs the next part of the current rotation, or of a new one. A rotation begins again if the first key has changed
 * since its beginning. The audit log has an entry before a rotation begins, and one when it is finished.
 * @throws encryptionOff, encryptionKeyDiffers
 */
export async function rotationPart(context: OperatorContext, reason: string): Promise<RotationAnswer> {
  const ctx = pin(context)
  const { key } = ctx
  const rotations = ctx.db.collection<RotationProgress>('rotations')
  const progress = (await findOpen(ctx, rotations)) ?? (await begin(ctx, { rotations, reason }))
  const { position } = progress
  const part = await runPart(ctx, position, false)
  const sum = {
    examined: progress.examined + part.examined,
    changed: progress.changed + part.changed,
    unknown: progress.unknown + part.unknown,
    // A rotation that an earlier release began has no such count.
    altered: (progress.altered ?? 0) + part.altered,
  }
  const inUse = part.next === null ? await finish(ctx, { reason, sum }) : []
  const end = part.next === null ? { finishedAt: new Date(ctx.clock.now()) } : { position: part.next }
  // Another call may have run the same part. Then it is counted once.
  const expected = { _id: 'last', key, position, finishedAt: null } as const
  await rotations.updateOne(expected, { $set: { ...sum, ...end } }, { writeConcern: MAJORITY })
  return { ...part, key, ...(inUse.length === 0 ? {} : { inUse }) }
}

function findOpen({ key }: PinnedContext, rotations: Collection<RotationProgress>): Promise<RotationProgress | null> {
  return rotations.findOne({ _id: 'last', finishedAt: null, key })
}

interface Beginning {
  readonly rotations: Collection<RotationProgress>
  readonly reason: string
}

async function begin(ctx: PinnedContext, { rotations, reason }: Beginning): Promise<RotationProgress> {
  const { operator: by, clock, key } = ctx
  await demandSameKey(ctx)
  await ctx.audit.record({ by, action: 'encryption.rotate', reason, details: { key } })
  await ctx.keyRegister.beginRotation()
  const progress = { key, position: FIRST, by, startedAt: new Date(clock.now()), finishedAt: null }
  const counts = { examined: 0, changed: 0, unknown: 0, altered: 0 }
  await rotations.replaceOne({ _id: 'last' }, { ...progress, ...counts }, { upsert: true, writeConcern: MAJORITY })
  return { _id: 'last', ...progress, ...counts }
}

/** Checked before anything is changed: a rotation that fulfilment refuses in the end makes no key superfluous. */
async function demandSameKey({ fulfilment, requestId, key }: PinnedContext): Promise<void> {
  const { firstKey } = await ask(fulfilment.encryption.status.query({}, { context: { requestId } }))
  if (firstKey !== key) throw encryptionKeyDiffers({ key, firstKey })
}

interface Ending {
  readonly reason: string
  readonly sum: RotationCounts
}

/**
 * If a key was unknown, no key is retired: what the unknown key has encrypted is not rotated. Resolves to the keys that
 * are needed although every record was rotated, because another process encrypts with them.
 */
async function finish(ctx: PinnedContext, { reason, sum }: Ending): Promise<readonly string[]> {
  const { retired, inUse } = sum.unknown > 0 ? { retired: [], inUse: [] } : await retireKeys(ctx)
  const entry = { by: ctx.operator, action: 'encryption.rotated', reason } as const
  await ctx.audit.record({ ...entry, details: { key: ctx.key, ...sum, retired, inUse } })
  return inUse
}

/** A key that one service no longer needs may still be needed by the other one. */
async function retireKeys({ keyRegister, fulfilment, requestId, key }: PinnedContext): Promise<RetiredKeys> {
  const there = await ask(fulfilment.encryption.retire.mutate({ key }, { context: { requestId } }))
  const here = await keyRegister.retire(key)
  const inUse = [...new Set([...here.inUse, ...there.inUse])]
  const retired = new Set([...here.retired, ...there.retired])
  return { retired: [...retired].filter((id) => !inUse.includes(id)), inUse }
}

/** A position is a collection and the id of the last record examined. */
async function runPart(ctx: PinnedContext, position: string, dryRun: boolean): Promise<RotationPart> {
  const [, name = '', after = ''] = /^(\w+):(.*)$/s.exec(position) ?? []
  const index = STAGES.findIndex(([collection]) => collection === name)
  const [, rotate] = STAGES[index] ?? []
  if (rotate === undefined) throw invalidRequest({}, { says: 'The position is not one of a rotation' })
  const part = await rotate(ctx, { after: after === '' ? null : after, dryRun })
  if (part.next !== null) return { ...part, next: `${name}:${part.next}` }
  const [following] = STAGES[index + 1] ?? []
  return { ...part, next: following === undefined ? null : `${following}:` }
}
