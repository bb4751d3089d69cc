import { setTimeout as sleep } from 'node:timers/promises'
import { invalidRequest } from '@oncehook/kernel/http/error-codes'
import type { RetiredKeys } from '@oncehook/kernel/mongo/key-register'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import type { RotationCounts, RotationPart } from '@oncehook/kernel/mongo/rotation'
import { isDuplicateKey } from '@oncehook/kernel/mongo/write-outcome'
import type { Collection, Filter } from 'mongodb'
import { z } from 'zod'
import { encryptionKeyDiffers, encryptionOff } from '../errors.ts'
import { callFulfilment } from '../http/fulfilment-client.ts'
import { type RotationRequest, rotateBodies, rotateEvents } from '../inbox/retention/rotate-evidence.ts'
import { inputText, reasonSchema } from '../operator/input-text.ts'
import { changingProcedure, type OperatorContext, procedure } from '../operator/operator-trpc.ts'

/** The result of one call of a rotation, or of its dry run. `next` is where the next call begins, or null if nothing is left. */
interface RotationAnswer extends RotationCounts {
  readonly next: string | null
  readonly key: string
  /** At the end: other keys with which a process has encrypted since the rotation began. They are still needed. */
  readonly inUse?: readonly string[]
  /** At the end: the counts of the whole rotation. Other callers, or an interrupted one, may have run its earlier parts. */
  readonly total?: RotationCounts
}

/** A rotation works with one key, even if the file changes in the meantime. */
interface PinnedContext extends OperatorContext {
  readonly key: string
  /** The name of the rotation; absent in a dry run. */
  readonly rotation?: string
}

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
  return ({ fulfilment, requestId, key, rotation }, request) =>
    callFulfilment(
      fulfilment.encryption.rotate.mutate({ collection, key, rotation, ...request }, { context: { requestId } }),
    )
}

interface RotationProgress extends Omit<RotationCounts, 'altered'> {
  readonly altered: number
  readonly _id: 'last'
  readonly key: string
  readonly position: string
  readonly by: string
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

const FIRST = 'events:'

/** @throws encryptionOff, encryptionKeyDiffers */
async function dryRunPart(context: OperatorContext, position = FIRST): Promise<RotationAnswer> {
  const ctx = pin(context)
  return { ...(await runPart(ctx, position, true)), key: ctx.key }
}

/**
 * Runs the next part of the current rotation, or of a new one. Concurrent calls share one rotation. It starts over if
 * the first key has changed since its beginning. It begins only half a minute after the last process has stopped using
 * another key as its first: until then, a call examines nothing. The audit log has an entry before a rotation begins,
 * and one when it is finished.
 * @throws encryptionOff, encryptionKeyDiffers
 */
async function rotationPart(context: OperatorContext, reason: string): Promise<RotationAnswer> {
  const pinned = pin(context)
  const { key } = pinned
  const rotations = pinned.db.collection<RotationProgress>('rotations')
  const progress = (await findOpen(pinned, rotations)) ?? (await begin(pinned, { rotations, reason }))
  if (progress === null) return { ...NOTHING, next: FIRST, key }
  const ctx = { ...pinned, rotation: nameOf(progress) }
  const part = await runPart(ctx, progress.position, false)
  const sum = {
    examined: progress.examined + part.examined,
    changed: progress.changed + part.changed,
    unknown: progress.unknown + part.unknown,
    altered: progress.altered + part.altered,
  }
  const isLast = part.next === null
  // If a key was unknown, none is retired: the values under the unknown key are not rotated.
  const { retired, inUse } = isLast && sum.unknown === 0 ? await retireKeys(ctx) : NO_KEYS
  const end = isLast ? { finishedAt: new Date(ctx.clock.now()) } : { position: part.next }
  // Another call may have run the same part. Then it is counted once, and the rotation is finished once.
  const { position, startedAt } = progress
  const expected = { _id: 'last', key, position, startedAt, finishedAt: null } as const
  const written = await rotations.updateOne(expected, { $set: { ...sum, ...end } }, { writeConcern: MAJORITY })
  if (isLast && (written.matchedCount > 0 || retired.length > 0)) {
    const entry = { by: ctx.operator, action: 'encryption.rotated', reason } as const
    await ctx.audit.record({ ...entry, details: { key, ...sum, retired, inUse } })
  }
  return { ...part, key, ...(inUse.length === 0 ? {} : { inUse }), ...(isLast ? { total: sum } : {}) }
}

const NOTHING = { examined: 0, changed: 0, unknown: 0, altered: 0 } as const
const NO_KEYS: RetiredKeys = { retired: [], inUse: [] }

function findOpen({ key }: PinnedContext, rotations: Collection<RotationProgress>): Promise<RotationProgress | null> {
  return rotations.findOne({ _id: 'last', finishedAt: null, key })
}

/** Resolves to the rotation that another call began in the meantime, if there is one; null if it is too early. */
async function begin(
  ctx: PinnedContext,
  { rotations, reason }: { readonly rotations: Collection<RotationProgress>; readonly reason: string },
): Promise<RotationProgress | null> {
  const { operator: by, clock, key } = ctx
  if (await isBeingLeft(ctx)) return null
  await ctx.audit.record({ by, action: 'encryption.rotate', reason, details: { key } })
  const fresh = { key, position: FIRST, by, startedAt: new Date(clock.now()), finishedAt: null, ...NOTHING }
  const isOver: Filter<RotationProgress> = { _id: 'last', $nor: [{ key, finishedAt: null }] }
  try {
    await rotations.replaceOne(isOver, fresh, { upsert: true, writeConcern: MAJORITY })
  } catch (error) {
    if (!isDuplicateKey(error)) throw error
  }
  const begun = await findOpen(ctx, rotations)
  if (begun !== null) await ctx.keyRegister.beginRotation(nameOf(begun))
  return begun
}

function nameOf({ startedAt }: RotationProgress): string {
  return startedAt.toISOString()
}

const MOST_ASKED = 4
const ASK_AGAIN_MS = 1_000

/**
 * Whether a process may still write values that it has encrypted with an earlier key. Waits some seconds for it. This
 * and the keys of fulfilment are checked before anything is changed: if fulfilment refuses the rotation in the end, no
 * key can be removed.
 */
async function isBeingLeft({ keyRegister, fulfilment, requestId, key }: PinnedContext): Promise<boolean> {
  for (let asked = 0; asked < MOST_ASKED; asked += 1) {
    if (asked > 0) await sleep(ASK_AGAIN_MS)
    const there = await callFulfilment(fulfilment.encryption.status.query({}, { context: { requestId } }))
    const { firstKey } = there
    if (firstKey !== key) throw encryptionKeyDiffers({ key, firstKey })
    const here = await keyRegister.status()
    if (here.leaving.length + there.leaving.length === 0) return false
  }
  return true
}

/** A key that one service no longer needs may still be needed by the other one. */
async function retireKeys(ctx: PinnedContext & { readonly rotation: string }): Promise<RetiredKeys> {
  const { keyRegister, fulfilment, requestId, key, rotation } = ctx
  const there = await callFulfilment(fulfilment.encryption.retire.mutate({ key, rotation }, { context: { requestId } }))
  const here = await keyRegister.retire(key, rotation)
  const inUse = [...new Set([...here.inUse, ...there.inUse])]
  const retired = new Set([...here.retired, ...there.retired])
  return { retired: [...retired].filter((id) => !inUse.includes(id)), inUse }
}

/** A position is a collection and the id of the last record examined. */
async function runPart(ctx: PinnedContext, position: string, dryRun: boolean): Promise<RotationPart> {
  const [, name = '', after = ''] = /^(\w+):(.*)$/s.exec(position) ?? []
  const index = STAGES.findIndex(([collection]) => collection === name)
  const [, rotate] = STAGES[index] ?? []
  if (rotate === undefined) throw invalidRequest({}, { message: 'The position does not belong to a rotation' })
  const part = await rotate(ctx, { after: after === '' ? null : after, dryRun })
  if (part.next !== null) return { ...part, next: `${name}:${part.next}` }
  const [following] = STAGES[index + 1] ?? []
  return { ...part, next: following === undefined ? null : `${following}:` }
}

export const encryptionStatusProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const context = { requestId: ctx.requestId }
  const [gateway, fulfilment] = await Promise.all([
    ctx.keyRegister.status(),
    callFulfilment(ctx.fulfilment.encryption.status.query({}, { context })),
  ])
  return { gateway, fulfilment }
})

/**
 * `encryption.rotate`: encrypts a part of the records of both services with the first key. Call it until `next` is
 * null. The gateway remembers the progress, so that any call continues an interrupted rotation. With `dryRun` nothing
 * is changed, and `position` is the `next` of the previous call.
 */
export const rotateEncryptionProcedure = changingProcedure
  .input(
    z.strictObject({
      reason: reasonSchema,
      dryRun: z.boolean().default(false),
      position: inputText(2_048).optional(),
    }),
  )
  .mutation(({ ctx, input: { reason, dryRun, position } }) =>
    dryRun ? dryRunPart(ctx, position) : rotationPart(ctx, reason),
  )
