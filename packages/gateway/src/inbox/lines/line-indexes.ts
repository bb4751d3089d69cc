import type { NeededIndex } from '@oncehook/kernel/mongo/ensure-indexes'

/** The states of the tasks that `LINE_INDEX` has. A search must name all of them, or the server reads the whole index. */
export const LINE_STATES: readonly string[] = ['pending', 'processing', 'dead']

/** The states of the tasks that `OPEN_LINE_INDEX` has. */
export const OPEN_LINE_STATES: readonly string[] = ['pending', 'processing']

/** The name of the index that finds the first task of each line that is not settled, or is dead. */
export const LINE_INDEX = 'line'

/** The name of the index that finds the first task of each line that is not settled. */
export const OPEN_LINE_INDEX = 'line_open'

/** The name of the index of the tasks of lines that are processed. */
export const LINE_HELD_INDEX = 'line_held'

const IN_ORDER = { handler: 1, line: 1, lineAt: 1, _id: 1, state: 1 } as const

/** The index that finds the first task of each line if a dead one blocks it. */
export const BY_LINE: NeededIndex = {
  name: LINE_INDEX,
  key: IN_ORDER,
  partialFilterExpression: { line: { $exists: true }, state: { $in: LINE_STATES } },
}

/**
 * The index that finds the first task of each line if a dead one does not block it. It has no dead ones, so a line costs
 * one key, however many of its tasks have failed.
 */
export const BY_OPEN_LINE: NeededIndex = {
  name: OPEN_LINE_INDEX,
  key: IN_ORDER,
  partialFilterExpression: { line: { $exists: true }, state: { $in: OPEN_LINE_STATES } },
}

/** The index of the tasks of lines that are processed. Only one task of a line is processed at a time. */
export const LINE_HELD: NeededIndex = {
  name: LINE_HELD_INDEX,
  key: { handler: 1, line: 1 },
  unique: true,
  partialFilterExpression: { state: 'processing', line: { $exists: true } },
}
