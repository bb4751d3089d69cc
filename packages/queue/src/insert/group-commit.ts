import type { WriteResult } from '@oncehook/kernel/mongo/write-outcome'

/*
 * Callers that arrive at the same time share write commands: one command in flight, no timer. A member that arrives during a command
 * waits for the next one, but not forever. Otherwise an overloaded database would write only members that were already abandoned.
 * Members that come alone are refused if there is no room. The members of a batch wait for room instead, fill at most half of it,
 * and batches take turns.
 */

/** The approximate size in bytes of a record without its body: names, strings, headers. */
export const OVERHEAD_BYTES = 1_024

/** Limits that keep a group within one command (the server allows 48 MB and 100,000 members), and the queue in front of it small. */
export const GROUP_LIMITS = {
  maxMembers: 500,
  maxBytes: 4 * 1024 * 1024,
  aloneBytes: 256 * 1024,
  /** The maximum that may wait or be in progress. Beyond it, a member is refused at once. */
  maxWaitingBytes: 16 * 1024 * 1024,
  /**
   * The maximum of one batch that waits or is in progress. Half a group: two batches share a command, and a single member waits
   * for one command of a batch, not for the whole batch.
   */
  maxMembersOfBatch: 250,
  /**
   * A member that has waited longer, in milliseconds, when the next group leaves is refused. A command that takes three seconds
   * still ends before the delivery is abandoned.
   */
  maxWaitMs: 5_000,
}

/** The size of each member of a batch in bytes, and the last time in milliseconds at which one may enter the queue. */
export interface BatchTerms {
  readonly bytes: number
  readonly endsAt: number
}

interface Waiter<Member> {
  readonly member: Member
  readonly bytes: number
  readonly since: number
  readonly resolve: (verdict: WriteResult) => void
}

/** A batch with members that have not entered the queue yet. */
interface Batch<Member> extends BatchTerms {
  readonly left: { readonly make: () => Member; readonly resolve: Waiter<Member>['resolve'] }[]
  entered: number
}

/** If the command of a group throws, all its members are `unknown`. */
export class GroupCommit<Member> {
  readonly #writeGroup: (members: Member[]) => Promise<readonly WriteResult[]>
  readonly #now: () => number
  readonly #limits: typeof GROUP_LIMITS
  #queue: Waiter<Member>[] = []
  /** In the order of their turns. */
  readonly #batches = new Set<Batch<Member>>()
  #waitingBytes = 0
  #underWay = 0
  #isRunning = false

  /** `writeGroup` resolves to a verdict for each member. `now`: milliseconds on a clock that is never set back. */
  constructor(
    writeGroup: (members: Member[]) => Promise<readonly WriteResult[]>,
    now: () => number,
    limits = GROUP_LIMITS,
  ) {
    this.#writeGroup = writeGroup
    this.#now = now
    this.#limits = limits
  }

  get waiting(): number {
    let members = this.#queue.length + this.#underWay
    for (const { left } of this.#batches) members += left.length
    return members
  }

  /** Writes a member in the next group. Its verdict is also `unknown` if the queue is full or too slow. */
  write(member: Member, bytes: number): Promise<WriteResult> {
    if (this.#waitingBytes + bytes > this.#limits.maxWaitingBytes) return Promise.resolve('unknown')
    return new Promise((resolve) => {
      this.#enqueue(member, bytes, resolve)
      this.#wake()
    })
  }

  /**
   * Writes the members of one batch. Resolves to a verdict for each, in their order. A member is created when it enters the
   * queue. Members that have not entered it by `endsAt` are `unknown`.
   */
  writeBatch(makers: readonly (() => Member)[], terms: BatchTerms): Promise<readonly WriteResult[]> {
    const members = makers.map((make) => ({ make, ...Promise.withResolvers<WriteResult>() }))
    if (members.length > 0) this.#batches.add({ ...terms, left: [...members], entered: 0 })
    this.#wake()
    return Promise.all(members.map(({ promise }) => promise))
  }

  /** Deferred by a microtask, so that requests that arrive in one read of the sockets share a command. */
  #wake(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    queueMicrotask(() => void this.#run())
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#turnLateAway()
      // Before new members: room that a command has just freed belongs to the members that waited for it.
      this.#feed()
      if (this.#queue.length === 0) break
      const group = this.#queue.splice(0, groupSize(this.#queue, this.#limits))
      this.#underWay = group.length
      const verdicts = await this.#writeGroup(group.map(({ member }) => member)).catch(() => [])
      for (const [index, waiter] of group.entries()) this.#settle(waiter, verdicts[index])
      this.#underWay = 0
    }
    this.#isRunning = false
  }

  #settle({ bytes, resolve }: Waiter<Member>, verdict: WriteResult = 'unknown'): void {
    this.#waitingBytes -= bytes
    resolve(verdict)
  }

  #turnLateAway(): void {
    const oldest = this.#now() - this.#limits.maxWaitMs
    const inTime = this.#queue.findIndex(({ since }) => since >= oldest)
    for (const waiter of this.#queue.splice(0, inTime === -1 ? this.#queue.length : inTime)) this.#settle(waiter)
  }

  #enqueue(member: Member, bytes: number, resolve: Waiter<Member>['resolve']): void {
    this.#waitingBytes += bytes
    this.#queue.push({ member, bytes, since: this.#now(), resolve })
  }

  /** Moves members of batches into the queue while there is room, one turn for each batch. Ends the batches whose time is over. */
  #feed(): void {
    for (const batch of [...this.#batches]) {
      if (this.#now() > batch.endsAt) for (const { resolve } of batch.left.splice(0)) resolve('unknown')
      // A batch that finds no room keeps its place.
      else if (!this.#feedOne(batch)) return
      this.#batches.delete(batch)
      // Its next turn comes after the turns of the other batches.
      if (batch.left.length > 0) this.#batches.add(batch)
    }
  }

  /** Whether the batch has finished its turn. */
  #feedOne(batch: Batch<Member>): boolean {
    const { left, bytes } = batch
    while (batch.entered < this.#limits.maxMembersOfBatch) {
      const [next] = left
      if (next === undefined) return true
      const isFull = this.#waitingBytes + bytes > this.#limits.maxWaitingBytes / 2
      if (isFull && this.#waitingBytes > 0) return false
      left.shift()
      batch.entered += 1
      this.#enqueue(next.make(), bytes, (verdict) => {
        batch.entered -= 1
        next.resolve(verdict)
      })
    }
    return true
  }
}

function groupSize(queue: readonly { bytes: number }[], limits: typeof GROUP_LIMITS): number {
  let bytes = 0
  for (const [index, { bytes: size }] of queue.entries()) {
    const alone = size > limits.aloneBytes
    if (index > 0 && (alone || index >= limits.maxMembers || bytes + size > limits.maxBytes)) return index
    if (alone) return 1
    bytes += size
  }
  return queue.length
}
