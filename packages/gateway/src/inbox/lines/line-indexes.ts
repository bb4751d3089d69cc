import type { NeededIndex } from '@oncehook/kernel/mongo/ensure-indexes'

/** The states of the tasks that `LINE_INDEX` has. A search must name all of them, or the server reads the whole index. */
export const LINE_STATES: readonly string[] = ['pending', 'processing', 'dead']
/** The name of the index that finds the first open task of each line. */
export const LINE_INDEX = 'line'

/** The index that finds the first open task of each line. */
export const BY_LINE: NeededIndex = {
  name: LINE_INDEX,
  key: { handler: 1, line: 1, lineAt: 1, _id: 1, state: 1 },
  partialFilterExpression: { line: { $exists: true }, state: { $in: LINE_STATES } },
}

/** The tasks of lines that are processed, in a sharded collection: its indexes cannot be unique. */
export const LINE_HELD: NeededIndex = {
  name: 'line_held',
  key: { handler: 1, line: 1 },
  partialFilterExpression: { state: 'processing', line: { $exists: true } },
}

/** The same of a collection that is not sharded. Only one task of a line is processed at a time. */
export const UNIQUE_LINE_HELD: NeededIndex = { ...LINE_HELD, unique: true }
