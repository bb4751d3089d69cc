import type { WriteResult } from '@oncehook/kernel/mongo/write-outcome'

/**
 * What the members of a batch share: the size of each in bytes, and the last time in milliseconds at which one may
 * enter the queue.
 */
export interface BatchTerms {
  readonly bytes: number
  readonly endsAt: number
}

/** The queue that batches feed: its clock in milliseconds, whether it has room, and how to enter it. */
interface FedQueue<Member> {
  readonly now: number
  readonly hasRoom: (bytes: number) => boolean
  readonly enqueue: (waiter: { member: Member; bytes: number; resolve: (result: WriteResult) => void }) => void
}

/** Batches with members that have not entered the queue of a group commit yet. */
export interface BatchQueue<Member> {
  /** Adds a batch. Resolves to a verdict for each member, in their order. */
  add(makers: readonly (() => Member)[], terms: BatchTerms): Promise<readonly WriteResult[]>
  /** Moves members into the queue while there is room, one turn for each batch. Ends the batches whose time is over. */
  feed(queue: FedQueue<Member>): void
  /** Members that have not entered the queue yet. */
  readonly waiting: number
}

interface Batch<Member> extends BatchTerms {
  readonly makers: readonly (() => Member)[]
  readonly results: WriteResult[]
  /** The index of the member that enters the queue next. */
  next: number
  /** Members without a verdict. */
  open: number
  readonly end: () => void
}

/** Creates the waiting list for batches. At most `maxMembers` of each batch are in the queue at a time. */
export function createBatchQueue<Member>(maxMembers: number): BatchQueue<Member> {
  // In the order of their turns.
  const batches = new Set<Batch<Member>>()
  const setResult = (batch: Batch<Member>, index: number, result: WriteResult): void => {
    batch.results[index] = result
    batch.open -= 1
    if (batch.open === 0) batch.end()
  }
  const enter = (batch: Batch<Member>, { enqueue }: FedQueue<Member>): void => {
    const index = batch.next
    const member = batch.makers[index]?.()
    batch.next += 1
    if (member !== undefined)
      enqueue({ member, bytes: batch.bytes, resolve: (result) => setResult(batch, index, result) })
  }
  /** Whether the batch has finished its turn. */
  const feedOne = (batch: Batch<Member>, queue: FedQueue<Member>): boolean => {
    const { makers, bytes } = batch
    const entered = (): number => batch.next - (makers.length - batch.open)
    while (batch.next < makers.length && entered() < maxMembers) {
      if (!queue.hasRoom(bytes)) return false
      enter(batch, queue)
    }
    return true
  }
  const expire = (batch: Batch<Member>): void => {
    const { length } = batch.makers
    for (; batch.next < length; batch.next += 1) setResult(batch, batch.next, 'unknown')
  }
  return {
    add(makers, terms) {
      if (makers.length === 0) return Promise.resolve([])
      return new Promise((resolve) => {
        const results: WriteResult[] = []
        batches.add({ ...terms, makers, results, next: 0, open: makers.length, end: () => resolve(results) })
      })
    },
    feed(queue) {
      for (const batch of [...batches]) {
        if (queue.now > batch.endsAt) expire(batch)
        // A batch that finds no room keeps its place.
        else if (!feedOne(batch, queue)) return
        batches.delete(batch)
        // Its next turn comes after the turns of the other batches.
        if (batch.next < batch.makers.length) batches.add(batch)
      }
    },
    get waiting() {
      let members = 0
      for (const { makers, next } of batches) members += makers.length - next
      return members
    },
  }
}
