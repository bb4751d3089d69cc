import type { Db } from 'mongodb'
import { createFindFronts } from './find-fronts.ts'
import { createWakeLines } from './wake-lines.ts'

/** A line of a handler. */
interface Line {
  readonly handler: string
  readonly line: string
}

/**
 * Makes the first task of a line due if it waits, after an operator has closed an earlier one. Another dead task may still
 * block the line: whether it does, only the claims of the handler know.
 */
export async function advanceLine(db: Db, { handler, line }: Line): Promise<void> {
  const deps = { db, handler, ordering: { blockOnDead: true } }
  await createWakeLines(deps, createFindFronts(deps)).advanceFree([line])
}
