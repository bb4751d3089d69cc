import { invalidRequest } from '@oncehook/kernel/error-codes'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import type { RotationCounts, RotationPart } from '@oncehook/kernel/mongo/rotation'
import type { Collection } from 'mongodb'
import { ask } from '../http/order-requests.ts'
import { type RotationRequest, rotateBodies, rotateEvents } from '../inbox/rotate-evidence.ts'
import type { OperatorContext } from './operator-trpc.ts'

/** What a call of a rotation did, or would do, and where the next one begins; null: there is nothing left. */
export interface RotationAnswer extends RotationCounts {
  readonly next: string | null
  /** The first key of the gateway. */
  readonly key: string
}

type Rotate = (ctx: OperatorContext, request: RotationRequest) => Promise<RotationPart>

/** The collections in their order, each with what rotates a part of it. */
const STAGES: readonly (readonly [collection: string, rotate: Rotate])[] = [
  ['events', rotateEvents],
  ['bodies', rotateBodies],
  ['orders', rotateInFulfilment('orders')],
  ['idempotency_keys', rotateInFulfilment('idempotency_keys')],
]

function rotateInFulfilment(collection: 'orders' | 'idempotency_keys'): Rotate {
  return ({ fulfilment, requestId }, request) =>
    ask(fulfilment.encryption.rotate.mutate({ collection, ...request }, { context: { requestId } }))
}

/** How far the rotation is that was begun last. */
interface RotationProgress extends RotationCounts {
  readonly _id: 'last'
  readonly key: string
  readonly position: string
  readonly by: string
  readonly startedAt: Date
  /** Null while it is not through. */
  readonly finishedAt: Date | null
}

const FIRST = 'events:'

/** Counts a part of what a rotation would change. */
export async function dryRunPart(ctx: OperatorContext, position = FIRST): Promise<RotationAnswer> {
  const part = await runPart(ctx, position, true)
  return { ...part, key: ctx.encryption.firstKey ?? '' }
}

/**
 * Makes the next part of the rotation that is under way, or of a new one. It is begun anew where the first key is another than at its
 * beginning. The audit has an entry before a rotation begins, and one when it is through.
 */
export async function rotationPart(ctx: OperatorContext, reason: string): Promise<RotationAnswer> {
  const rotations = ctx.db.collection<RotationProgress>('rotations')
  const progress = (await findOpen(ctx, rotations)) ?? (await begin(ctx, { rotations, reason }))
  const { key, position } = progress
  const part = await runPart(ctx, position, false)
  const sum = {
    examined: progress.examined + part.examined,
    changed: progress.changed + part.changed,
    unknown: progress.unknown + part.unknown,
  }
  if (part.next === null) await finish(ctx, { key, reason, sum })
  const end = part.next === null ? { finishedAt: new Date(ctx.clock.now()) } : { position: part.next }
  // Another call may have made the same part: then it is counted once.
  await rotations.updateOne({ _id: 'last', key, position }, { $set: { ...sum, ...end } }, { writeConcern: MAJORITY })
  return { ...part, key }
}

function findOpen(
  { encryption }: OperatorContext,
  rotations: Collection<RotationProgress>,
): Promise<RotationProgress | null> {
  return rotations.findOne({ _id: 'last', finishedAt: null, key: encryption.firstKey ?? '' })
}

interface Beginning {
  readonly rotations: Collection<RotationProgress>
  readonly reason: string
}

async function begin(ctx: OperatorContext, { rotations, reason }: Beginning): Promise<RotationProgress> {
  const { operator: by, encryption, clock } = ctx
  const key = encryption.firstKey ?? ''
  await ctx.audit.record({ by, action: 'encryption.rotate', reason, details: { key } })
  const progress = { key, position: FIRST, by, startedAt: new Date(clock.now()), finishedAt: null }
  const counts = { examined: 0, changed: 0, unknown: 0 }
  await rotations.replaceOne({ _id: 'last' }, { ...progress, ...counts }, { upsert: true, writeConcern: MAJORITY })
  return { _id: 'last', ...progress, ...counts }
}

interface Ending {
  readonly key: string
  readonly reason: string
  readonly sum: RotationCounts
}

/** Where a key was unknown, it is still needed: what it has encrypted is not rotated. */
async function finish(ctx: OperatorContext, { key, reason, sum }: Ending): Promise<void> {
  const retired = sum.unknown > 0 ? [] : await retireKeys(ctx)
  const entry = { by: ctx.operator, action: 'encryption.rotated', reason } as const
  await ctx.audit.record({ ...entry, details: { key, ...sum, retired } })
}

async function retireKeys({ keyRegister, fulfilment, requestId }: OperatorContext): Promise<readonly string[]> {
  const { retired } = await ask(fulfilment.encryption.retire.mutate({}, { context: { requestId } }))
  return [...new Set([...(await keyRegister.retire()), ...retired])]
}

/** A position is a collection and the id of the last record that was looked at. */
async function runPart(ctx: OperatorContext, position: string, dryRun: boolean): Promise<RotationPart> {
  const [, name = '', after = ''] = /^(\w+):(.*)$/s.exec(position) ?? []
  const index = STAGES.findIndex(([collection]) => collection === name)
  const [, rotate] = STAGES[index] ?? []
  if (rotate === undefined) throw invalidRequest({}, { says: 'The position is none of a rotation' })
  const part = await rotate(ctx, { after: after === '' ? null : after, dryRun })
  if (part.next !== null) return { ...part, next: `${name}:${part.next}` }
  const [following] = STAGES[index + 1] ?? []
  return { ...part, next: following === undefined ? null : `${following}:` }
}
