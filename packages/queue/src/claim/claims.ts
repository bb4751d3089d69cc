import { randomUUID } from 'node:crypto'
import { bulkUpdate, sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import { DUPLICATE_KEY } from '@oncehook/kernel/mongo/write-outcome'
import { type Document, MongoServerError } from 'mongodb'
import { type DueRecord, findDue, isDue, isOver } from '../due.ts'
import { Lines } from '../order/lines.ts'
import { BY_ID, EVENTS, type NamedTask, type TaskDocument, withIds } from '../task.ts'
import {
  bury,
  claimDue,
  postpone,
  postponeSuspect,
  release,
  releaseSuspect,
  settle,
  suspect,
  takeOver,
} from '../transitions.ts'
import { type Claim, type ClaimOptions, type SettledClaim, toClaim } from './claim.ts'
import { chooseSuspects, findSuspects, isPoison } from './suspects.ts'

/*
 * Claims: who processes which task. A claim is a random name and an end, both in the record of the task. While it lasts,
 * nobody else reads or writes the record. A process that dies, sleeps or loses the answer of the database has nothing to do: the
 * task is due again when its claim ends, for any process. Nobody asks who held it.
 *
 * Claiming is a search for ids and one conditional update of them, which only one process wins; what it has won, it reads by the
 * name. Nothing is sent before a majority has the claim. What is settled or released names the claim, so a holder that comes late
 * changes nothing.
 *
 * A task whose claim has ended, or whose call broke, is a suspect: it may be the cause. Suspects are claimed apart from due
 * tasks, few at a time, and after too many losses in a row a task is dead (`suspects.ts`). One that waited for its provider, or that
 * a redelivery revived, becomes a suspect again instead of being claimed with others. A process takes over from others only while
 * the database answers it (`steadiness.ts`), so that an outage of the database is no death.
 */

/** The claims of one process for one handler. All times come from the database's clock. */
export interface Claims {
  /**
   * Claims up to `limit` due records, new ones and retries alike, the longest due first. Records of paused providers are not
   * claimed, but left out of later searches until their provider is resumed. Nor are tasks that wait in line. `isExpected`: there
   * should be a due record.
   */
  claimDue(limit: number, isExpected?: boolean): Promise<Claim[]>
  /**
   * Claims the next suspects, at most `limit`: several with few losses, or a single one. Marks those as dead that were lost too
   * often. `verdictAt`: when the handler last gave a verdict to this process.
   */
  claimSuspects(verdictAt: Date | null, limit: number): Promise<Suspects>
  /** Safe to repeat after a failure. Resolves to those whose claim was lost: their outcomes are dropped. */
  settle(settled: readonly SettledClaim[]): Promise<readonly SettledClaim[]>
  /** Releases claims without an attempt. They are due at once, and nothing counts for or against them. */
  release(claims: readonly Claim[]): Promise<void>
  /** Makes first tasks of lines due whose process died before it did so. */
  sweepLines(): Promise<void>
}

interface Suspects {
  readonly claims: Claim[]
  readonly buried: number
}

const MAX_TRIES = 5
// Enough that a long list of a provider that was just paused, or a long line, does not hold up the others for more than
// seconds.
const MAX_ASIDE = 40
const POSTPONED_AT_ONCE = 500

export function createClaims(options: ClaimOptions): Claims {
  const { steadiness } = options
  const lines = new Lines(options)
  return {
    async claimDue(limit) {
      const claims: Claim[] = []
      await steadiness.confirmIfDoubtful()
      try {
        await steadiness.watch(fill(options, lines, { claims, limit }))
      } catch (error) {
        // This process holds the claims from now on, and only the caller can know. The next search reports what fails.
        if (claims.length === 0) throw error
      }
      return claims
    },
    claimSuspects: (verdictAt, limit) => steadiness.watch(takeSuspects(options, verdictAt, limit)),
    async settle(settled) {
      const lost = await steadiness.watch(writeOutcomes(options, settled))
      // If this fails, the outcomes are stored all the same, and a sweep makes up for it.
      await lines.advance(linesOf(settled)).catch((error: unknown) => options.onLineFailed?.(error))
      return lost
    },
    async release(claims) {
      const { true: suspects = [], false: others = [] } = Object.groupBy(claims, ({ lost }) => `${lost > 0}`)
      const updates = [
        ...statements(others).map((q) => ({ q, u: release(), multi: true, hint: BY_ID })),
        ...statements(suspects).map((q) => ({ q, u: releaseSuspect(), multi: true, hint: BY_ID })),
      ]
      await steadiness.watch(bulkUpdate(options.db, { update: EVENTS, updates }))
    },
    // A sweep that fails prevents no takeover.
    sweepLines: () => lines.sweep(),
  }
}

interface Filling {
  readonly claims: Claim[]
  readonly limit: number
}

/** Another process may have taken the records that were found. Then it searches again, or one process would starve the other. */
async function fill(options: ClaimOptions, lines: Lines, { claims, limit }: Filling): Promise<void> {
  for (let tries = 0, aside = 0; tries < MAX_TRIES && claims.length < limit && aside < MAX_ASIDE; ) {
    const outcome = await addFound(options, lines, { claims, limit: limit - claims.length })
    // A search further along the lines would hold up these claims. Their end starts the next search.
    if (outcome === 'last' || (outcome === 'in line' && claims.some(({ line }) => line !== undefined))) return
    if (outcome === 'more') tries += 1
    else aside += 1
  }
}

/** Those that must wait for their provider or for an earlier task are set aside: later searches skip them. */
async function addFound(
  options: ClaimOptions,
  lines: Lines,
  { claims, limit }: Filling,
): Promise<'set aside' | 'in line' | 'last' | 'more'> {
  const found = await findDue(options, limit)
  const due = found.filter(({ provider }) => !options.paused().has(provider))
  // Those in no line do not wait for a look at the lines.
  const free = await takeDue(
    options,
    due.filter(({ line }) => line === undefined),
  )
  claims.push(...free.claims)
  const { claimable, waiting } = await lines.admit(due.filter(({ line }) => line !== undefined))
  const lined = await takeDue(options, claimable)
  claims.push(...lined.claims)
  await lines.letWait(lined.refused)
  if (due.length < found.length) await postponePaused(options, found)
  if (due.length < found.length) return 'set aside'
  if (waiting + lined.refused.length > 0) return 'in line'
  return due.length < limit ? 'last' : 'more'
}

/** What became of records that were to be claimed. The others were not claimable any more. */
interface Taken {
  readonly claims: Claim[]
  /** Those that the database refused, because another task of their line is processed. */
  readonly refused: readonly DueRecord[]
}

async function takeDue(options: ClaimOptions, records: readonly DueRecord[]): Promise<Taken> {
  if (records.length === 0) return { claims: [], refused: [] }
  const claim = randomUUID()
  const { lined = [], suspects = [], others = [] } = Object.groupBy(records, kindOf)
  // One statement for each of a line: the index may refuse one, because another task of the line is processed.
  const groups = [others, suspects, ...lined.map((record) => [record])].filter((group) => group.length > 0)
  const updates = groups.map((group) => ({
    q: { ...withIds(group), ...isDue(options) },
    u: group.some(isSuspect) ? suspect() : claimDue({ claim, lastsMs: options.lastsMs }),
    multi: true,
    hint: BY_ID,
  }))
  const { refused } = await sendUpdates(options.db, { update: EVENTS, updates })
  const failed = refused.find(({ code }) => code !== DUPLICATE_KEY)
  if (failed !== undefined) throw new MongoServerError({ message: 'A claim was refused', code: failed.code })
  return {
    claims: await readClaims(options, records, claim),
    refused: refused.flatMap(({ index }) => groups[index] ?? []),
  }
}

function isSuspect({ lost }: DueRecord): boolean {
  return lost > 0
}

function kindOf(record: DueRecord): 'lined' | 'suspects' | 'others' {
  if (record.line !== undefined) return 'lined'
  return isSuspect(record) ? 'suspects' : 'others'
}

async function readClaims(
  { db, unread }: ClaimOptions,
  records: readonly NamedTask[],
  claim: string,
): Promise<Claim[]> {
  const taken = await db
    .collection<TaskDocument>(EVENTS)
    .find({ ...withIds(records), claim })
    .project<TaskDocument>({ attempts: 0, ...Object.fromEntries(unread.map((name) => [name, 0])) })
    .toArray()
  const place = new Map(records.map(({ _id }, index) => [String(_id), index]))
  const placeOf = ({ _id }: Claim): number => place.get(String(_id)) ?? 0
  return taken.map(toClaim).sort((one, other) => placeOf(one) - placeOf(other))
}

/**
 * Gives due records of paused providers the due time of their provider's pause. Then no later search reads them, however
 * many they are. Searches for more than a caller may claim, because only probes are claimed during an outage. `seen`: what
 * the caller has found. It may be far from the beginning, where this search looks.
 */
async function postponePaused(options: ClaimOptions, seen: readonly DueRecord[]): Promise<void> {
  const found = await findDue(options, POSTPONED_AT_ONCE)
  await postponeThose(options, [...seen, ...found], {
    q: { state: 'pending', handler: options.handler },
    update: postpone,
  })
}

async function postponeThose(
  { db, paused }: ClaimOptions,
  records: readonly DueRecord[],
  { q, update }: { readonly q: Document; readonly update: (dueAt: Date) => Document[] },
): Promise<void> {
  const pausedNow = paused()
  const updates = [...Map.groupBy(records, ({ provider }) => provider)].flatMap(([provider, group]) => {
    const dueAt = pausedNow.get(provider)
    return dueAt === undefined ? [] : [{ q: { ...withIds(group), ...q }, u: update(dueAt), multi: true, hint: BY_ID }]
  })
  await bulkUpdate(db, { update: EVENTS, updates })
}

async function takeSuspects(options: ClaimOptions, verdictAt: Date | null, limit: number): Promise<Suspects> {
  const { db, steadiness, maxCrashes } = options
  const found = (await findSuspects(options, verdictAt)).filter(
    ({ claim }) => claim === undefined || steadiness.isSteady,
  )
  const paused = found.filter(({ provider }) => options.paused().has(provider))
  await postponeThose(options, paused, { q: isOver(options), update: postponeSuspect })
  const suspects = found.filter((one) => !paused.includes(one))
  if (suspects.length === 0) return { claims: [], buried: 0 }
  await steadiness.confirm()
  const poison = suspects.filter(({ lost }) => lost >= maxCrashes)
  const dead = {
    q: { ...withIds(poison), ...isPoison(options, verdictAt) },
    u: bury(options.callBroke, options.end),
    multi: true,
    hint: BY_ID,
  }
  const buried = poison.length === 0 ? 0 : await bulkUpdate(db, { update: EVENTS, updates: [dead] })
  const open = suspects.filter(({ lost }) => lost < maxCrashes)
  const chosen = chooseSuspects(open, maxCrashes).slice(0, limit)
  if (chosen.length === 0) return { claims: [], buried }
  const claim = randomUUID()
  const u = takeOver({ claim, lastsMs: options.lastsMs }, verdictAt)
  const updates = [{ q: { ...withIds(chosen), ...isOver(options) }, u, multi: true, hint: BY_ID }]
  await bulkUpdate(db, { update: EVENTS, updates })
  return { claims: await readClaims(options, chosen, claim), buried }
}

function statements(claims: readonly Claim[]): Document[] {
  return [...Map.groupBy(claims, ({ claim }) => claim)].map(([claim, group]) => {
    const filter = { state: 'processing', claim }
    return { ...withIds(group), ...filter }
  })
}

/** Outcomes that are alike are written in one statement. Claims are lost only if no statement was refused. */
async function writeOutcomes(
  options: ClaimOptions,
  settled: readonly SettledClaim[],
): Promise<readonly SettledClaim[]> {
  const groups = Map.groupBy(settled, ({ settlement, attempt }) => JSON.stringify([settlement, attempt]))
  const updates = [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const u = settle(first.settlement, first.attempt, options.end)
    return statements(group.map(({ claim }) => claim)).map((q) => ({ q, u, multi: true, hint: BY_ID }))
  })
  const matched = await bulkUpdate(options.db, { update: EVENTS, updates })
  return matched === settled.length ? [] : findLost(options, settled)
}

/**
 * Claims whose record is gone, was claimed again, or was released meanwhile. A record without a claim that was not claimed since
 * and has the state of the outcome has the outcome, from an earlier try whose answer was lost.
 */
async function findLost({ db }: ClaimOptions, settled: readonly SettledClaim[]): Promise<SettledClaim[]> {
  const found = await db
    .collection<TaskDocument>(EVENTS)
    .find(withIds(settled.map(({ claim }) => claim)))
    .project<Pick<TaskDocument, '_id' | 'claim' | 'starts' | 'state'>>({ claim: 1, starts: 1, state: 1 })
    .toArray()
  const records = new Map(found.map((record) => [String(record._id), record]))
  return settled.filter(({ claim, settlement }) => {
    const record = records.get(String(claim._id))
    if (record === undefined || record.claim !== undefined || record.starts !== claim.starts) return true
    // A suspect that is tried again stays in process.
    return record.state !== settlement.state && !(settlement.state === 'pending' && record.state === 'processing')
  })
}

/** The lines in which another task may come next. If one is tried again, an earlier one may have been replayed. */
function linesOf(settled: readonly SettledClaim[]): string[] {
  return settled.flatMap(({ claim: { line } }) => line ?? [])
}
