import type { NeededIndex, NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Document, ObjectId, Timestamp } from 'mongodb'

/*
 * A task: one event for one handler. Its document has a key, what its owner adds to it (the evidence of the event, which the
 * queue never reads), and the state of the work, which only `transitions.ts` changes. All times are those of the database.
 */

export const EVENTS = 'events'

export const TASK_STATES = ['pending', 'processing', 'done', 'unhandled', 'dead', 'closed'] as const

/** The states in which nothing more happens automatically. */
export const SETTLED_STATES = ['done', 'unhandled', 'dead', 'closed'] as const satisfies readonly TaskState[]

export type TaskState = (typeof TASK_STATES)[number]

export interface TaskKey {
  readonly provider: string
  readonly eventId: string
  readonly handler: string
}

/** One attempt. `at` is the database's clock. */
export interface Attempt {
  readonly at: Date
  readonly ms: number
  readonly outcome: string
  readonly code: string | null
  readonly message: string | null
  readonly version?: number
}

export interface TaskDocument extends TaskKey {
  readonly _id: ObjectId
  /** The line of its handler in which the task is, see `lineOf`. Absent: it waits for no other. */
  readonly line?: string
  /** Its place in the line. Inserted empty, set by the server. */
  readonly lineAt?: Timestamp
  readonly state: TaskState
  readonly reason: string | null
  readonly starts: number
  /** Consecutive losses: claims whose process died, and broken calls while the handler decided about other tasks. */
  readonly lost: number
  /**
   * Consecutive attempts that failed; the sum of the waits that were set after them, in milliseconds; and its part since the last
   * ones all had this code. Nothing else counts towards the end of retries.
   */
  readonly failing?: Partial<Failing>
  /** When a call with it last broke, while nobody knows whose fault it was. */
  readonly brokeAt?: Date
  /** The name of the claim under which it is processed, and which every later write names. */
  readonly claim?: string
  /**
   * Pending: from when it may be claimed. Processing: the end of its claim. From the year 7000 on: its provider is paused, or
   * was. The year 6999: it waits for an earlier task of its line. The year 6998: it is dead, and blocks its line.
   */
  readonly dueAt?: Date
  /** When a replay or a redelivery last made it due again, and how often a redelivery did. */
  readonly again?: { readonly at: Date; readonly revivals?: number }
  /** The newest 50. The last one with a code has the last error, the last one without the outcome. */
  readonly attempts: readonly Attempt[]
  readonly settledAt?: Date
  /** The newest 50 replays, each with its id. */
  readonly replays?: readonly (ReplayEntry & { readonly at: Date })[]
  /** Who closed it and why, while it is closed. */
  readonly closed?: { readonly at: Date; readonly by: string; readonly reason: string }
}

export function lastErrorOf(attempts: readonly Attempt[]): LastError | null {
  const last = attempts.findLast(({ at, code }) => typeof code === 'string' && at instanceof Date)
  return last === undefined ? null : { code: last.code ?? '', message: last.message ?? '', at: last.at }
}

interface LastError {
  readonly code: string
  readonly message: string
  readonly at: Date
}

interface Failing {
  readonly times: number
  readonly waitedMs: number
  readonly code: string
  readonly codeMs: number
}

export interface ReplayEntry {
  readonly id: ObjectId
  readonly by: string
  readonly reason: string
  readonly notRead?: string
}

/**
 * The due time of a task that waits for an earlier one of its line. It is later than any that is ever set, and earlier than
 * those of pauses, so the search skips it.
 */
export const IN_LINE_DUE_AT: Date = new Date(Date.UTC(6999, 0, 1))

/** The due time of a dead task that blocks its line. */
export const BLOCKS_LINE_DUE_AT: Date = new Date(Date.UTC(6998, 0, 1))

/** A key as text, unique among all keys: the name of a provider contains no line break. */
export function nameOfKey({ provider, eventId, handler }: TaskKey): string {
  return `${provider}\n${eventId}\n${handler}`
}

/** A document, as far as a statement names it. */
export type NamedTask = Pick<TaskDocument, '_id'>

/** The hint of statements that name their documents. With a long backlog, the server might prefer to scan all of it. */
export const BY_ID = { _id: 1 } as const

export function withIds(tasks: readonly NamedTask[]): { _id: { $in: ObjectId[] } } {
  return { _id: { $in: tasks.map(({ _id }) => _id) } }
}

// Ids come in no order, so every insert changes a different page of their index. With small pages, each insert writes
// little.
export const SMALL_PAGES = { wiredTiger: { configString: 'leaf_page_max=4KB' } }

/** The unique index. It does the deduplication. */
export const KEY_INDEX = {
  name: 'task_key',
  key: { provider: 1, eventId: 1, handler: 1 },
  unique: true,
  storageEngine: SMALL_PAGES,
} as const satisfies NeededIndex

/** The index of work: it finds the due tasks of a handler, and those whose claims have ended. */
export const DUE_INDEX = 'due'
/** The index of the lists by state: newest first, and what the counts of a state need beside. */
export const STATE_INDEX = 'state'
/** The states that it has. A task that is claimed when it is stored, and then done, never touches it. */
export const LISTED_STATES = ['pending', 'dead', 'closed', 'unhandled'] as const satisfies readonly TaskState[]

export const BY_DUE = { state: 1, handler: 1, dueAt: 1, _id: 1 } as const

export const LINE_INDEX = 'line'

export const LINE_HELD_INDEX = 'line_held'

/** Matches the tasks that are open: they are pending or processed, or dead and block their line. A search must name it as it is. */
export const IS_OPEN: Document = { dueAt: { $gte: new Date(0) } }

export const IN_LINE_ORDER = { handler: 1, line: 1, lineAt: 1, _id: 1 } as const

const LINE_INDEXES: readonly NeededIndex[] = [
  // Only one task of a line is processed at a time.
  {
    name: LINE_HELD_INDEX,
    key: { handler: 1, line: 1 },
    unique: true,
    partialFilterExpression: { state: 'processing', line: { $exists: true } },
  },
  // A line costs one key, however many of its tasks are settled. For that, the index must have the field of its filter.
  {
    name: LINE_INDEX,
    key: { ...IN_LINE_ORDER, dueAt: 1 },
    partialFilterExpression: { line: { $exists: true }, ...IS_OPEN },
  },
]

/** What inserts and claims need. The others are for lists and counts. */
export const FIRST_TASK_INDEXES: NeededIndexes = {
  collection: EVENTS,
  indexes: [
    KEY_INDEX,
    { name: DUE_INDEX, key: BY_DUE, partialFilterExpression: { state: { $in: ['pending', 'processing'] } } },
    ...LINE_INDEXES,
  ],
}

/** All indexes of the queue. Partial, so that a settled task costs them nothing and an insert appends to them in order. */
export const TASK_INDEXES: readonly NeededIndex[] = [
  ...FIRST_TASK_INDEXES.indexes,
  {
    name: STATE_INDEX,
    key: { state: 1, _id: 1, provider: 1, handler: 1, reason: 1, 'again.at': 1 },
    partialFilterExpression: { state: { $in: [...LISTED_STATES] } },
  },
]
