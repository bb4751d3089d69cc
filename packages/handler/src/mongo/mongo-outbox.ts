import type { ClientSession, Db, ObjectId } from 'mongodb'
import { messageKey } from '../run-work.ts'
import {
  type ClaimedMessage,
  type MessageClaim,
  MOST_COUNTED,
  type NewMessage,
  type Outbox,
  type Task,
} from '../store.ts'
import { COLLECTIONS, type MessageDocument, messagesOf } from './mongo-documents.ts'

export interface StoredMessages {
  readonly messages: readonly NewMessage[]
  readonly session: ClientSession
  readonly at: number
}

// Leases begin one after another, and the first must not be half over when the last begins.
const CLAIM_MS = 1_000
const TOO_LATE_MS = 4_000
const TOO_LATE = 'The claim took too long'

type NewDocument = Omit<MessageDocument, '_id'>

export async function storeMessages(
  db: Db,
  task: Task<never>,
  { messages, session, at }: StoredMessages,
): Promise<void> {
  if (messages.length === 0) return
  const documents = messages.map(({ name, json }, index) => ({
    ...{ handler: task.handler, name, key: messageKey(task, index + 1), payload: json, attempt: 0, dead: false },
    ...{ createdAt: new Date(at), dueAt: new Date(at) },
  }))
  await db.collection<NewDocument>(COLLECTIONS.outbox).insertMany(documents, { session })
}

/**
 * The messages of `tx.later` in MongoDB. `now` is the clock of this machine: a worker whose clock is ahead claims messages of the
 * others before their leases end.
 */
export function createMongoOutbox(db: Db, now: () => number): Outbox {
  const messages = messagesOf(db)
  const mine = ({ id, attempt }: ClaimedMessage) => ({ _id: id as ObjectId, attempt })
  const claimOne = async ({ handler, names, leaseMs }: MessageClaim): Promise<ClaimedMessage | null> => {
    const at = now()
    const found = await messages.findOneAndUpdate(
      { handler, dead: false, dueAt: { $lte: new Date(at) }, name: { $in: [...names] } },
      { $set: { dueAt: new Date(at + leaseMs) }, $inc: { attempt: 1 } },
      { sort: { dueAt: 1 }, returnDocument: 'after' },
    )
    if (found === null) return null
    const { _id, name, key, payload, attempt } = found
    return { id: _id, name, key, payload: JSON.parse(payload), attempt }
  }
  const release: Outbox['release'] = async (message, reason) => {
    await messages.updateOne(mine(message), { $set: { dueAt: new Date(now()), reason }, $inc: { attempt: -1 } })
  }
  const claimSome = async (wanted: MessageClaim, startedAt: number): Promise<ClaimedMessage[]> => {
    const claimed: ClaimedMessage[] = []
    try {
      while (claimed.length < wanted.most && performance.now() - startedAt < CLAIM_MS) {
        const message = await claimOne(wanted)
        if (message === null) break
        claimed.push(message)
      }
    } catch (error) {
      // Only the caller can send what was claimed. The next claim reports what fails.
      if (claimed.length === 0) throw error
    }
    return claimed
  }
  return {
    async claim(wanted) {
      const startedAt = performance.now()
      const claimed = await claimSome(wanted, startedAt)
      if (claimed.length === 0 || performance.now() - startedAt < TOO_LATE_MS) return claimed
      // A part of their leases has passed: an attempt might outlast it.
      await Promise.allSettled(claimed.map((message) => release(message, TOO_LATE)))
      throw new Error(TOO_LATE)
    },
    async remove(message) {
      return (await messages.deleteOne(mine(message))).deletedCount > 0
    },
    async retry(message, afterMs, reason) {
      await messages.updateOne(mine(message), { $set: { dueAt: new Date(now() + afterMs), reason } })
    },
    release,
    async markDead(message, reason) {
      await messages.updateOne(mine(message), { $set: { dead: true, reason } })
    },
    async count(handler) {
      const [waiting, dead, oldest] = await Promise.all([
        messages.countDocuments({ handler, dead: false }, { limit: MOST_COUNTED }),
        messages.countDocuments({ handler, dead: true }, { limit: MOST_COUNTED }),
        messages.findOne({ handler, dead: false }, { sort: { createdAt: 1 } }),
      ])
      return { waiting, dead, oldestSeconds: oldest === null ? 0 : (now() - oldest.createdAt.getTime()) / 1_000 }
    },
  }
}
