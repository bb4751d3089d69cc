/** A message of `tx.later`, before it is stored. */
export interface NewMessage {
  readonly name: string
  /** The payload as JSON. */
  readonly json: string
}

/** What every transaction offers, whatever the database. */
export interface LaterTransaction {
  /**
   * Stores a message in this transaction. After the commit, the function of this name in `later` gets it, at least once and
   * always with the same key.
   * @throws TypeError if there is no such function, or the payload is not JSON
   */
  later(name: string, payload?: unknown): void
  /** Is aborted when the time of the function is over. Pass it to what can be cancelled. */
  readonly signal: AbortSignal
}

/** One event for one handler, and the work that it causes. */
export interface Task<Tx> {
  readonly handler: string
  readonly key: string
  /** The SHA-256 of what is the same whenever the event comes, in hex. */
  readonly bodyHash: string
  /** How long the key is kept. */
  readonly keepMs: number
  /** How long to wait for another transaction with the same key. */
  readonly waitMs: number
  /** The longest time of the work. */
  readonly timeoutMs: number
  /** The names that `tx.later` accepts. */
  readonly laterNames: ReadonlySet<string>
  /** What happens in the transaction; null: the event is only recorded as unhandled. */
  readonly work: ((tx: Tx) => unknown) | null
}

/** The state of a key. */
export type KeyOutcome = 'done' | 'unhandled'

/** What became of a task. `conflict`: the key has another body. `busy`: another transaction with this key still runs. */
export type TaskResult =
  | { readonly outcome: KeyOutcome; readonly repeated: boolean; readonly messages: number }
  | { readonly outcome: 'conflict' | 'busy' }

/** A message that a worker has claimed. `attempt` grows with each claim: only the latest claim can settle the message. */
export interface ClaimedMessage {
  /** Known to the store only. */
  readonly id: unknown
  readonly name: string
  /** The same at every attempt, and different for each handler, event and position. */
  readonly key: string
  readonly payload: unknown
  /** 1 for the first attempt. */
  readonly attempt: number
}

/** Which messages a worker takes. */
export interface MessageClaim {
  readonly handler: string
  readonly names: readonly string[]
  readonly most: number
  /** Afterwards, another worker may claim a message that is not settled. */
  readonly leaseMs: number
}

/** Up to which number messages are counted, so that a count costs little however many there are. */
export const MOST_COUNTED = 10_000

/** The messages that wait and those that failed permanently, each counted up to `MOST_COUNTED`. */
export interface MessageCounts {
  readonly waiting: number
  readonly dead: number
  /** How long ago the oldest waiting message was stored. 0 if there is none. */
  readonly oldestSeconds: number
}

/** The stored messages of `tx.later`. A message whose lease has ended and was claimed again cannot be settled by its old worker. */
export interface Outbox {
  /** Throws if the database fails, or if it was so slow that what was claimed has been released again. */
  claim(claim: MessageClaim): Promise<readonly ClaimedMessage[]>
  /** Removes a message that was sent. False if it is not there any more, or was claimed again. */
  remove(message: ClaimedMessage): Promise<boolean>
  retry(message: ClaimedMessage, afterMs: number, reason: string): Promise<void>
  /** Releases a message that was not sent because its worker ends. The attempt does not count. */
  release(message: ClaimedMessage, reason: string): Promise<void>
  /** Keeps a message that failed permanently, with the reason. */
  markDead(message: ClaimedMessage, reason: string): Promise<void>
  count(handler: string): Promise<MessageCounts>
}

/** The database of the effects. `Tx` is what the functions get as a transaction. */
export interface Store<Tx> {
  /**
   * Does the work of a task once: its key and its effect are committed together. If the work throws, neither is.
   * @throws StoreUnavailable before the work began, or what the work throws
   */
  once(task: Task<Tx>): Promise<TaskResult>
  /**
   * Does the work of many tasks in one transaction, for at most `mostMs`. Resolves to the results of those that are committed. The
   * others are left for `once`, and so are all if it rejects. Default: all are left.
   */
  onceTogether?(tasks: readonly Task<Tx>[], mostMs: number): Promise<ReadonlyMap<Task<never>, TaskResult>>
  readonly outbox: Outbox
  /** Throws unless the database answers and is set up. */
  ping(): Promise<void>
  /** Removes some of the keys that have expired. Returns how many. */
  removeExpired(): Promise<number>
}

/** The database could not be reached, or is not set up. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'

  constructor(cause: unknown) {
    super('The database of the handler is unavailable', { cause })
  }
}

/** The function did not end within its time. Its transaction was rolled back. */
export class TaskTimedOut extends Error {
  override readonly name = 'TaskTimedOut'

  constructor(timeoutMs: number) {
    super(`The function did not end within ${timeoutMs} ms`)
  }
}
