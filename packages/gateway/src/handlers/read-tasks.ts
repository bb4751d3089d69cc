import { keyUnknown, recordAltered } from '@oncehook/kernel/http/error-codes'
import { toAppError } from '@oncehook/kernel/http/errors'
import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import { shareCalls } from '@oncehook/kernel/rpc/share-calls'
import type { Claim } from '@oncehook/queue/claim/claim'
import { EVENTS } from '@oncehook/queue/task'
import { type BodySource, isBodyGone, withBody } from '../inbox/bodies.ts'
import type { EventDocument } from '../inbox/event-document.ts'
import { type TaskEvent, type TaskRefusal, writeTaskEvent } from './task-event.ts'

export interface ReadTask {
  readonly claim: Claim
  readonly read: TaskEvent | TaskRefusal
}

type Stored = Pick<EventDocument, '_id' | keyof typeof NEEDED>

const READ_MS = 4_000
const NEEDED = { raw: 1, headers: 1, sealed: 1, bodyId: 1, bodyHash: 1, receivedAt: 1, starts: 1, claim: 1 } as const

// One answer of the database could otherwise have 16 MB of records, for every call in progress.
const MOST_BYTES = 2 * 1024 * 1024

/**
 * Reads claimed tasks with their bodies, one by one. It leaves out a claim whose record is gone, or was claimed again since.
 * Holds at most 2 MiB of records at a time, or one record that is larger.
 */
export async function* readTasks(
  source: BodySource,
  handler: string,
  claims: readonly Claim[],
): AsyncGenerator<ReadTask> {
  for (const group of await groupBySize(source, claims)) yield* readGroup(source, handler, group)
}

/** Reads a task for each of these claims with one search; null if its record is gone. All are held at a time. */
async function readTogether(
  source: BodySource,
  handler: string,
  claims: readonly Claim[],
): Promise<(ReadTask | null)[]> {
  const read = new Map<Claim, ReadTask>()
  for await (const task of readGroup(source, handler, claims)) read.set(task.claim, task)
  return claims.map((claim) => read.get(claim) ?? null)
}

/** The claims in groups of records that are read together. A record that is not found is in one of them, too. */
async function groupBySize(source: BodySource, claims: readonly Claim[]): Promise<Claim[][]> {
  if (claims.length < 2) return [[...claims]]
  const sizes = await readSizes(source, claims)
  const groups: Claim[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const claim of claims) {
    const size = sizes.get(String(claim._id)) ?? 0
    bytes += size
    if (bytes <= MOST_BYTES) groups.at(-1)?.push(claim)
    else {
      groups.push([claim])
      bytes = size
    }
  }
  return groups
}

async function readSizes({ db }: BodySource, claims: readonly Claim[]): Promise<Map<string, number>> {
  const pipeline = [
    { $match: { _id: { $in: claims.map(({ _id }) => _id) } } },
    { $project: { size: { $bsonSize: '$$ROOT' } } },
  ]
  const found = db
    .collection(EVENTS)
    .aggregate<{ readonly _id: unknown; readonly size: number }>(pipeline, { maxTimeMS: READ_MS })
  return new Map((await found.toArray()).map(({ _id, size }) => [String(_id), size]))
}

async function* readGroup(source: BodySource, handler: string, claims: readonly Claim[]): AsyncGenerator<ReadTask> {
  // After a pause of this process, longer than its claim, another may have sent a task, and later ones of its line.
  const keyOf = ({ _id, claim }: Pick<EventDocument, '_id' | 'claim'>): string => `${_id} ${claim}`
  const byKey = new Map(claims.map((claim) => [keyOf(claim), claim]))
  const found = source.db
    .collection<EventDocument>(EVENTS)
    .find({ _id: { $in: claims.map(({ _id }) => _id) } }, { maxTimeMS: READ_MS })
    .project<Stored>(NEEDED)
  for await (const stored of found) {
    const claim = byKey.get(keyOf(stored))
    if (claim !== undefined) yield { claim, read: await readTask(source, claim, handler, stored) }
  }
}

async function readTask(
  source: BodySource,
  claim: Claim,
  handler: string,
  stored: Stored,
): Promise<TaskEvent | TaskRefusal> {
  try {
    // Only the fields that were read are looked at.
    const record = await withBody(source, stored as EventDocument)
    if (isBodyGone(record)) return BODY_GONE
    const { raw, receivedAt, starts } = record
    return writeTaskEvent(claim, handler, { raw: Buffer.from(raw.value()), receivedAt, attempt: starts })
  } catch (error) {
    if (keyUnknown.is(error)) return { refused: error.code, retry: 'later', message: error.message }
    if (recordAltered.is(error)) return { refused: error.code, retry: 'never', message: error.message }
    if (toUnavailable(error) !== null) throw error
    // Other tasks are read together with this one, and must not wait for it.
    return { refused: toAppError(error).code, retry: 'later', message: 'The gateway could not read the event' }
  }
}

const BODY_GONE: TaskRefusal = {
  refused: 'body_missing',
  retry: 'never',
  message: 'The body of the event has been removed',
}

type ReadClaims = (claims: readonly Claim[]) => AsyncIterable<ReadTask>

// No more bodies than the calls in progress hold anyway.
const SHARING = { most: 8, patienceMs: 500 }

export function createSharedReads(source: BodySource, handler: string): ReadClaims {
  const read = shareCalls((claims: readonly Claim[]) => readTogether(source, handler, claims), SHARING)
  return async function* readShared(claims) {
    for (const task of await read(claims)) if (task !== null) yield task
  }
}
