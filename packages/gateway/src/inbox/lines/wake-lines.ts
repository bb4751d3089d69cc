import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Document, ObjectId } from 'mongodb'
import type { ClaimsDeps } from '../claims/claims-deps.ts'
import { BY_ID, type NamedRecord, withIds } from '../claims/named-records.ts'
import { EVENTS } from '../event-document.ts'
import { wake } from '../transitions.ts'
import { decideTurns, type WaitingFront } from './decide-turns.ts'
import type { FindFronts } from './find-fronts.ts'
import { findHeldLines } from './find-held-lines.ts'
import { IN_LINE_DUE_AT } from './line.ts'

type WakeDeps = Pick<ClaimsDeps, 'db' | 'handler'>

/** Makes first tasks due that wait. */
export interface WakeLines {
  /** Those of these tasks whose line is free. If another task of a line is processed, its end wakes the first one. */
  wakeFree(woken: readonly WaitingFront<ObjectId>[]): Promise<void>
  /** The first tasks of these lines, after one task of each has ended. */
  advance(lines: readonly string[]): Promise<void>
  /** The first tasks of these lines, as far as they are free. */
  advanceFree(lines: readonly string[], maxTimeMS?: number): Promise<void>
}

// The outcomes of other tasks wait meanwhile. If it takes longer, the next sweep makes up for it.
const ADVANCE_MS = 1_000
const IS_WAITING = { state: 'pending', dueAt: IN_LINE_DUE_AT }

/** Creates what wakes the first tasks of the lines of one handler. */
export function createWakeLines(deps: WakeDeps, findFronts: FindFronts): WakeLines {
  const wakeAll = (woken: readonly WaitingFront<ObjectId>[]): Promise<void> =>
    writeInLines(deps, woken, { filter: IS_WAITING, u: wake() })
  const findForgotten = async (lines: readonly string[], maxTimeMS = ADVANCE_MS) => {
    if (lines.length === 0) return []
    return decideTurns<ObjectId, NamedRecord & { readonly line: string }>([], await findFronts(lines, maxTimeMS)).woken
  }
  // Claimed while another one is processed, a task would be refused.
  const wakeFree = async (woken: readonly WaitingFront<ObjectId>[]): Promise<void> => {
    const held = await findHeldLines(deps, linesIn(woken))
    await wakeAll(woken.filter(({ line }) => !held.has(line)))
  }
  return {
    wakeFree,
    advance: async (lines) => wakeAll(await findForgotten(lines)),
    advanceFree: async (lines, maxTimeMS) => wakeFree(await findForgotten(lines, maxTimeMS)),
  }
}

/** Changes those of these records that match. */
export async function writeInLines(
  { db }: WakeDeps,
  records: readonly NamedRecord[],
  { filter, u }: { readonly filter: Document; readonly u: Document[] },
): Promise<void> {
  if (records.length === 0) return
  const updates = [{ q: { ...withIds(records), ...filter }, u, multi: true, hint: BY_ID }]
  await bulkUpdate(db, { update: EVENTS, updates })
}

/** The lines of some records. */
export function linesIn(records: readonly { readonly line: string }[]): string[] {
  return records.map(({ line }) => line)
}
