import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Document, ObjectId } from 'mongodb'
import { type DueRecord, type FindDue, findDue, isDue, SEARCH_MS } from '../due.ts'
import { BY_ID, DUE_INDEX, EVENTS, IN_LINE_DUE_AT, type NamedTask, withIds } from '../task.ts'
import { postpone, unblock, wake } from '../transitions.ts'
import { findFronts, findHeldLines, findLines, type LinesOf } from './find-lines.ts'
import { decideTurns, type Front, type WaitingFront } from './turns.ts'

/*
 * The lines of a handler with `orderBy`: tasks with the same value, in the order of `lineAt`. The server sets `lineAt` when
 * it inserts a task, from the cluster time, which also grows across elections. So if one delivery was answered
 * before another was received, its task comes first, whatever the clocks of the gateways say.
 *
 * Why a task never runs before an earlier one. It is claimed only after a read that found it first among the open tasks of
 * its line. A read that shows a task also shows every task that was stored before it. And what a read has found to be
 * settled stays so, unless an operator or a redelivery makes it due again, or a new primary has lost its outcome. Hence the task is
 * still the first one when it is claimed, however late that is, and by any process.
 *
 * Why two tasks of a line never run at the same time, even if both were received at once or one is replayed: the
 * unique index `line_held` has room for one that is processed. A first task that is refused for that reason waits as the
 * others do. Otherwise every search would find it again, before the due tasks of other lines.
 *
 * A task that is dead may block its line: then it is open, as those that are pending or processed are.
 *
 * Why none waits forever. A task that must wait gets a due time that no search reads. The process that writes the outcome
 * of a task then looks at the first one of the line and makes it due, and the process that lets a task wait looks once more
 * after that. One of the two sees what the other wrote. An operator's change that closes a dead task looks, too. If a
 * process dies in between, a `sweep` of any process finds the line.
 */

export interface LineOptions extends FindDue {
  /** Set if the handler has `orderBy`: whether a dead task blocks those behind it. */
  readonly ordering?: { readonly blockOnDead: boolean } | undefined
  readonly monotonicMs?: () => number
}

/** Which of some due records may be claimed, and how many have to wait. */
interface Admitted {
  readonly claimable: readonly DueRecord[]
  readonly waiting: number
}

const AT_ONCE = 500
// The outcomes of other tasks wait meanwhile. If it takes longer, the next sweep makes up for it.
const ADVANCE_MS = 1_000
// Sweeps follow each other. A slice of lines usually takes some milliseconds.
const SWEEP_MS = 250
// Without the setting, only tasks of an earlier one can be in lines.
const REST_MS = 60_000
const BEFORE_ALL = ''

/** The lines of one handler in one process. A task is in the line that was stored with it, whatever the setting says now. */
export class Lines {
  readonly #options: LineOptions
  readonly #now: () => number
  #nextSweepAt = Number.NEGATIVE_INFINITY
  /** The lines that were found and not looked at yet, and behind which line the next ones are. */
  #ahead: string[] = []
  #after = BEFORE_ALL

  constructor(options: LineOptions) {
    this.#options = options
    this.#now = options.monotonicMs ?? (() => performance.now())
  }

  /** Those of some due records that may be claimed now. The others wait, and no search finds them. */
  async admit(due: readonly DueRecord[]): Promise<Admitted> {
    const lined = due.filter(isLined)
    if (lined.length === 0) return { claimable: due, waiting: 0 }
    const claimable = new Set<DueRecord>(await this.#separate(lined))
    const waiting = lined.length - claimable.size
    if (waiting === due.length) await this.#clear()
    return { claimable: due.filter((record) => !isLined(record) || claimable.has(record)), waiting }
  }

  /** Lets first tasks wait that could not be claimed, because a later one of their lines is processed. */
  async letWait(refused: readonly DueRecord[]): Promise<void> {
    const waiting = refused.filter(isLined)
    if (waiting.length === 0) return
    // One that was tried meanwhile and has a later time keeps it.
    await writeInLines(this.#options, waiting, { filter: isDue(this.#options), u: postpone(IN_LINE_DUE_AT) })
    await advanceFree(this.#options, linesIn(waiting), ADVANCE_MS)
  }

  /** Makes the first task of each of these lines due if it waits, after one task of each has ended. */
  async advance(lines: readonly string[]): Promise<void> {
    await wakeAll(this.#options, await findForgotten(this.#options, lines, ADVANCE_MS))
  }

  /**
   * Looks through some of the lines, and makes their first tasks due if they wait: a process may have died before it did
   * so. Sweep after sweep, it looks through all. After a failure, it goes on with the next lines.
   */
  async sweep(): Promise<void> {
    if (this.#options.ordering === undefined && this.#now() < this.#nextSweepAt) return
    if (this.#ahead.length === 0) await this.#lookAhead()
    if (this.#ahead.length === 0) this.#nextSweepAt = this.#now() + REST_MS
    const endsAt = this.#now() + SWEEP_MS
    do await advanceFree(this.#options, this.#ahead.splice(0, AT_ONCE), SEARCH_MS)
    while (this.#ahead.length > 0 && this.#now() < endsAt)
  }

  async #lookAhead(): Promise<void> {
    if (this.#after === BEFORE_ALL && !(await anyWaits(this.#options))) return
    const { lines, last } = await findLines(this.#options, this.#after, this.#options.ordering?.blockOnDead === true)
    this.#ahead = [...lines]
    this.#after = last ?? BEFORE_ALL
  }

  async #separate(lined: readonly LinedRecord[]): Promise<readonly LinedRecord[]> {
    const fronts = await findOpenFronts(this.#options, linesIn(lined), SEARCH_MS)
    const { claimable, waiting, woken } = decideTurns(lined, fronts)
    await wakeFree(this.#options, woken)
    await this.letWait(waiting)
    return claimable
  }

  /** A long line is moved out of the search in large steps, so that it holds up nothing else. */
  async #clear(): Promise<void> {
    const found = await findDue(this.#options, AT_ONCE)
    await this.#separate(found.filter(isLined))
  }
}

interface LinedRecord extends DueRecord {
  readonly line: string
}

function isLined(record: DueRecord): record is LinedRecord {
  return typeof record.line === 'string'
}

function linesIn(records: readonly { readonly line: string }[]): string[] {
  return records.map(({ line }) => line)
}

type Woken = readonly WaitingFront<ObjectId>[]

/**
 * The first open task of each of these lines. Every task that dies in a line blocks it at first. If those of this handler do not,
 * they are taken out of the way here, so that later searches do not see them.
 */
async function findOpenFronts(
  of: LinesOf & LineOrdering,
  lines: readonly string[],
  maxTimeMS: number,
): Promise<ReadonlyMap<string, Front<ObjectId>>> {
  const fronts = await findFronts(of, lines, maxTimeMS)
  const dead = [...fronts].filter(([, { state }]) => state === 'dead')
  if (of.ordering?.blockOnDead === true || dead.length === 0) return fronts
  const blocking = dead.map(([line, { _id }]) => ({ _id, line }))
  await writeInLines(of, blocking, { filter: IS_DEAD, u: unblock() })
  const others = [...fronts].filter(([, { state }]) => state !== 'dead')
  return new Map([...others, ...(await findOpenFronts(of, linesIn(blocking), maxTimeMS))])
}

const IS_DEAD = { state: 'dead' }

async function findForgotten(of: LinesOf & LineOrdering, lines: readonly string[], maxTimeMS: number): Promise<Woken> {
  if (lines.length === 0) return []
  return decideTurns([], await findOpenFronts(of, lines, maxTimeMS)).woken
}

type LineOrdering = Pick<LineOptions, 'ordering'>

function wakeAll(of: LinesOf, woken: Woken): Promise<void> {
  const filter = { state: 'pending', dueAt: IN_LINE_DUE_AT }
  return writeInLines(of, woken, { filter, u: wake() })
}

/**
 * Makes those of these tasks due whose line is free. Claimed while another one of its line is processed, a task would be refused.
 * The end of that one wakes it.
 */
async function wakeFree(of: LinesOf, woken: Woken): Promise<void> {
  const held = await findHeldLines(of, linesIn(woken))
  await wakeAll(
    of,
    woken.filter(({ line }) => !held.has(line)),
  )
}

/** Makes the first tasks of these lines due, as far as they wait and are free. */
export async function advanceFree(
  of: LinesOf & LineOrdering,
  lines: readonly string[],
  maxTimeMS: number,
): Promise<void> {
  await wakeFree(of, await findForgotten(of, lines, maxTimeMS))
}

async function writeInLines(
  { db }: LinesOf,
  records: readonly NamedTask[],
  { filter, u }: { readonly filter: Document; readonly u: Document[] },
): Promise<void> {
  if (records.length === 0) return
  const updates = [{ q: { ...withIds(records), ...filter }, u, multi: true, hint: BY_ID }]
  await bulkUpdate(db, { update: EVENTS, updates })
}

/** Whether any task waits in a line. If none does, a look at the lines would read the record of each first task for nothing. */
async function anyWaits({ db, handler }: LinesOf): Promise<boolean> {
  const filter = { state: 'pending', handler, dueAt: IN_LINE_DUE_AT }
  const options = { hint: DUE_INDEX, maxTimeMS: SEARCH_MS, projection: { _id: 1 } }
  return (await db.collection(EVENTS).findOne(filter, options)) !== null
}
