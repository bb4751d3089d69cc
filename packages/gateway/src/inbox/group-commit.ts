import type { WriteResult } from '@oncehook/kernel/mongo/write-outcome'
import { type BatchTerms, createBatchQueue } from './batch-queue.ts'
import type { GroupLimits } from './group-limits.ts'

/** Dependencies of a group commit. */
export interface GroupCommitDeps<Member> {
  /** Writes a group and resolves to a verdict for each member. */
  readonly writeGroup: (members: Member[]) => Promise<readonly WriteResult[]>
  /** Milliseconds on a clock that is never set back. */
  readonly now: () => number
}

/** Lets callers that arrive at the same time share write commands. */
export interface GroupCommit<Member> {
  /**
   * Writes a member in the next group. Resolves to the verdict of this member. It is also `unknown` if the queue is
   * full or too slow.
   */
  write(member: Member, bytes: number): Promise<WriteResult>
  /**
   * Writes the members of one batch. They wait for room instead of being refused, fill at most half of it, and batches
   * take turns. A member is created when it enters the queue. Members that have not entered it by `endsAt` are
   * `unknown`.
   */
  writeBatch(makers: readonly (() => Member)[], terms: BatchTerms): Promise<readonly WriteResult[]>
  /** Members that wait or are in progress. */
  readonly waiting: number
}

interface Waiter<Member> {
  readonly member: Member
  readonly bytes: number
  readonly since: number
  readonly resolve: (verdict: WriteResult) => void
}

/**
 * Creates a group commit: one command in flight, no timer. A member that arrives during a command waits for the next
 * one, but not forever. Otherwise an overloaded database would write only members that were already abandoned. If the
 * command of a group throws, all its members are `unknown`.
 */
export function createGroupCommit<Member>(
  { writeGroup, now }: GroupCommitDeps<Member>,
  limits: GroupLimits,
): GroupCommit<Member> {
  let queue: Waiter<Member>[] = []
  const batches = createBatchQueue<Member>(limits.maxMembersOfBatch)
  let waitingBytes = 0
  let underWay = 0
  let running = false

  const settle = ({ bytes, resolve }: Waiter<Member>, verdict: WriteResult = 'unknown'): void => {
    waitingBytes -= bytes
    resolve(verdict)
  }
  const turnLateAway = (): void => {
    const oldest = now() - limits.maxWaitMs
    const inTime = queue.findIndex(({ since }) => since >= oldest)
    const late = queue.splice(0, inTime === -1 ? queue.length : inTime)
    for (const waiter of late) settle(waiter)
  }
  const run = async (): Promise<void> => {
    running = true
    for (;;) {
      turnLateAway()
      // Before new members: room that a command has just freed belongs to the members that waited for it.
      batches.feed({ now: now(), hasRoom, enqueue })
      if (queue.length === 0) break
      const size = groupSize(queue, limits)
      const group = queue.slice(0, size)
      queue = queue.slice(size)
      underWay = size
      const verdicts = await attempt(group.map(({ member }) => member))
      group.forEach((waiter, index) => {
        settle(waiter, verdicts[index])
      })
      underWay = 0
    }
    running = false
  }
  const attempt = async (members: Member[]): Promise<readonly WriteResult[]> => {
    try {
      return await writeGroup(members)
    } catch {
      return []
    }
  }
  // The other half is for members that come alone: they are refused if there is no room.
  const roomOfBatches = limits.maxWaitingBytes / 2
  const hasRoom = (bytes: number): boolean => waitingBytes === 0 || waitingBytes + bytes <= roomOfBatches
  const enqueue = ({ member, bytes, resolve }: Omit<Waiter<Member>, 'since'>): void => {
    waitingBytes += bytes
    queue.push({ member, bytes, since: now(), resolve })
  }
  // Deferred by a microtask, so that requests that arrive in one read of the sockets share a command.
  const wake = (): void => {
    if (running) return
    running = true
    queueMicrotask(() => void run())
  }
  return {
    write(member, bytes) {
      if (waitingBytes + bytes > limits.maxWaitingBytes) return Promise.resolve('unknown')
      return new Promise((resolve) => {
        enqueue({ member, bytes, resolve })
        wake()
      })
    },
    writeBatch(makers, terms) {
      const verdicts = batches.add(makers, terms)
      wake()
      return verdicts
    },
    get waiting() {
      return queue.length + underWay + batches.waiting
    },
  }
}

function groupSize(queue: readonly { bytes: number }[], limits: GroupLimits): number {
  let bytes = 0
  for (const [index, { bytes: size }] of queue.entries()) {
    const alone = size > limits.aloneBytes
    if (index > 0 && (alone || index >= limits.maxMembers || bytes + size > limits.maxBytes)) return index
    if (alone) return 1
    bytes += size
  }
  return queue.length
}
