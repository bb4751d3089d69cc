import { hash } from 'node:crypto'

/** A handler that wants an event, by its name, and perhaps the line in which the task is. */
export type TaskWish = string | { readonly handler: string; readonly line: string }

/**
 * The due time of a task that waits for an earlier one of its line. It is later than any that is ever set, and earlier than
 * those of pauses, so the search skips it.
 */
export const IN_LINE_DUE_AT: Date = new Date(Date.UTC(6999, 0, 1))

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
