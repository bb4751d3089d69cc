import { hash } from 'node:crypto'
import { IN_LINE_DUE_AT, type TaskState } from '../task.ts'

/** The first open task of a line: no earlier one is left. */
export interface Front<Id> {
  readonly _id: Id
  readonly state: TaskState
  readonly dueAt?: Date | undefined
}

export interface WaitingFront<Id> {
  readonly _id: Id
  readonly line: string
}

interface Turns<Id, Task> {
  /** They are the first of their lines. */
  readonly claimable: readonly Task[]
  readonly waiting: readonly Task[]
  /** The first tasks of lines, which still wait although nothing is before them. */
  readonly woken: readonly WaitingFront<Id>[]
}

/** Only the first open task of a line can be claimed. If that one is dead and still open, it blocks its line. */
export function decideTurns<Id, Task extends { readonly _id: Id; readonly line: string }>(
  due: readonly Task[],
  fronts: ReadonlyMap<string, Front<Id>>,
): Turns<Id, Task> {
  const isFirst = ({ _id, line }: Task): boolean => {
    const front = fronts.get(line)
    return front?.state === 'pending' && String(front._id) === String(_id)
  }
  const claimable = due.filter(isFirst)
  const claimed = new Set(claimable.map(({ _id }) => String(_id)))
  const forgotten = [...fronts].filter(([, front]) => isForgotten(front) && !claimed.has(String(front._id)))
  const woken = forgotten.map(([line, { _id }]) => ({ _id, line }))
  return { claimable, waiting: due.filter((task) => !isFirst(task)), woken }
}

function isForgotten({ state, dueAt }: Front<unknown>): boolean {
  return state === 'pending' && dueAt?.getTime() === IN_LINE_DUE_AT.getTime()
}

/** A handler that wants an event, by its name, and perhaps the line in which the task is. */
export type TaskWish = string | { readonly handler: string; readonly line: string }

const LENGTH = 22

/**
 * The line of a task, from the value at `orderBy`: a short hash, because the value may say who a customer is. Undefined if
 * the value is no text, number, true or false: then the task is in no line.
 */
export function lineOf(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  // As JSON, so that the text "1" and the number 1 differ.
  return hash('sha256', JSON.stringify(value), 'base64url').slice(0, LENGTH)
}
