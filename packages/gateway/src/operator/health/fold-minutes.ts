import { setImmediate as afterOthers } from 'node:timers/promises'
import { type MinuteDocument, OTHERS, WAITING_AGES } from '../../inbox/statistics/minutes.ts'
import { ANSWERED_WITHIN } from '../../metrics.ts'

interface Counted {
  readonly reason: string
  readonly count: number
}

/** What the documents of minutes have for the page. */
export type Minute = Omit<MinuteDocument, 'expireAt'>

type ByName = Readonly<Record<string, number>>

const MOST_REASONS = 5

/**
 * Folds minutes into `steps` steps of `stepMs` milliseconds, of which the first begins at `from`. Members with a number for each
 * step have null where nothing was recorded. Other work runs after each step: handlers choose how many reasons a minute has.
 */
export async function foldMinutes(minutes: readonly Minute[], range: { from: number; stepMs: number; steps: number }) {
  const found = Map.groupBy(minutes, ({ _id }) => Math.floor((_id.getTime() - range.from) / range.stepMs))
  const steps: Step[] = []
  while (steps.length < range.steps) {
    steps.push(toStep(found.get(steps.length) ?? []))
    await afterOthers()
  }
  const each = <Value>(read: (step: Step) => Value) => steps.map((step) => (step.isEmpty ? null : read(step)))
  return {
    received: each(({ received }) => received),
    refused: each(({ refused }) => totalOf(refused)),
    // Of all steps together, the most frequent first.
    refusedBecause: sorted(sumOf(steps.map(({ refused }) => refused))),
    // `p50` and `p99` are places in these borders, in seconds; their length: later. Null where nothing was answered.
    within: ANSWERED_WITHIN,
    p50: steps.map(({ answered }) => percentileOf(answered, 0.5)),
    p99: steps.map(({ answered }) => percentileOf(answered, 0.99)),
    // The pending tasks of each step, when most of them waited, in groups that these ages in seconds separate, the youngest first.
    ages: WAITING_AGES,
    waiting: steps.map(({ waiting }) => waiting),
    // The most frequent of all steps first, and `others` last.
    failed: byReason(steps.map(({ failed }) => failed)),
  }
}

interface Step extends Record<'refused' | 'answered' | 'failed', ByName> {
  readonly isEmpty: boolean
  readonly received: number
  readonly waiting: readonly number[] | null
}

function toStep(minutes: readonly Minute[]): Step {
  return {
    isEmpty: minutes.length === 0,
    received: minutes.reduce((sum, { received }) => sum + received, 0),
    refused: sumOf(minutes.map(({ refused }) => refused)),
    answered: sumOf(minutes.map(({ answered }) => answered)),
    failed: sumOf(minutes.map(({ failed }) => failed)),
    waiting: mostWaiting(minutes),
  }
}

function sumOf(counts: readonly (ByName | undefined)[]): ByName {
  // A handler chooses names, even one that every other object has.
  const sum: Record<string, number> = Object.create(null)
  for (const one of counts) {
    for (const [name, count] of Object.entries(one ?? {})) sum[name] = (sum[name] ?? 0) + count
  }
  return sum
}

function totalOf(counts: ByName): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function sorted(counts: ByName): Counted[] {
  const all = Object.entries(counts).map(([reason, count]) => ({ reason, count }))
  return all.toSorted((one, other) => other.count - one.count || (one.reason < other.reason ? -1 : 1))
}

/** The place of the bucket that has the last of the given part of all. Null if the buckets are empty. */
export function percentileOf(buckets: ByName, part: number): number | null {
  const total = totalOf(buckets)
  if (total === 0) return null
  let sum = 0
  // An object has names that are whole numbers in their order.
  for (const [place, count] of Object.entries(buckets)) {
    sum += count
    if (sum >= total * part) return Number(place)
  }
  return null
}

function mostWaiting(minutes: readonly Minute[]): readonly number[] | null {
  const counted = minutes.flatMap(({ waiting }) => (waiting === undefined ? [] : [waiting]))
  const total = (groups: readonly number[]): number => groups.reduce((sum, count) => sum + count, 0)
  return counted.reduce<readonly number[] | null>(
    (most, one) => (most === null || total(one) > total(most) ? one : most),
    null,
  )
}

function byReason(steps: readonly ByName[]) {
  const named = sorted(sumOf(steps)).filter(({ reason }) => reason !== OTHERS)
  const shown = named.slice(0, MOST_REASONS).map(({ reason }) => reason)
  const rows = shown.map((reason) => ({ reason, counts: steps.map((step) => step[reason] ?? 0) }))
  const others = steps.map((step, at) => totalOf(step) - rows.reduce((sum, { counts }) => sum + (counts[at] ?? 0), 0))
  return others.every((count) => count === 0) ? rows : [...rows, { reason: OTHERS, counts: others }]
}
