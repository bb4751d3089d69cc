/** Limits of a group and of the queue in front of it. Sizes are in bytes, times in milliseconds. */
export interface GroupLimits {
  readonly maxMembers: number
  readonly maxBytes: number
  /** A larger member is written alone. */
  readonly aloneBytes: number
  /** The maximum that may wait or be in progress. Beyond it, a member is refused at once. */
  readonly maxWaitingBytes: number
  /**
   * The maximum number of members of one batch that wait or are in progress. The other members of the batch take their
   * turn after them.
   */
  readonly maxMembersOfBatch: number
  /** A member that has waited longer when the next group leaves is refused: its verdict would come too late. */
  readonly maxWaitMs: number
}

/** The approximate size in bytes of a record without its body: names, strings, headers. */
export const OVERHEAD_BYTES = 1_024

/** Limits that keep a group within one command (the server allows 48 MB and 100,000 members). */
export const GROUP_LIMITS: GroupLimits = {
  maxMembers: 500,
  maxBytes: 4 * 1024 * 1024,
  aloneBytes: 256 * 1024,
  maxWaitingBytes: 16 * 1024 * 1024,
  // Half a group: two batches share a command, and a single member waits for one command of a batch, not for the whole
  // batch.
  maxMembersOfBatch: 250,
  // A command that takes three seconds still ends before the delivery is abandoned.
  maxWaitMs: 5_000,
}
