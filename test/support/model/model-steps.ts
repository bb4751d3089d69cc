import type { EventOfStep, StepNote } from '@oncehook/gateway/testing/recording/record-steps'
import type { RecordedLine } from './recorded-line.ts'

/** A step in the words of the model. Its `kind` decides which members it has. */
export type ModelStep = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** A step of one order, and when it began and ended. Null: nobody has seen its end. */
export interface TimedStep {
  readonly step: ModelStep
  readonly begunAt: bigint
  readonly endedAt: bigint | null
  /** Steps with the same key are tries of one step. */
  readonly key?: string
}

/** The names that the model has for gateways, by process, and for events, by id. */
export interface ModelNames {
  readonly gateways: ReadonlyMap<number, string>
  readonly events: ReadonlyMap<string, string>
}

interface Pair {
  readonly begin: RecordedLine
  readonly end: RecordedLine | undefined
  readonly g: string
  readonly names: ReadonlyMap<string, string>
}

/** The steps of the events that have names. */
export function modelSteps(lines: readonly RecordedLine[], { gateways, events }: ModelNames): TimedStep[] {
  const ends = new Map(lines.filter(({ ended }) => ended).map((line) => [`${line.by} ${line.id}`, line]))
  const steps = lines.flatMap((begin) => {
    if (begin.step === undefined) return []
    const pair = { begin, end: ends.get(`${begin.by} ${begin.id}`), g: gateways.get(begin.by) ?? '', names: events }
    return STEPS[begin.step](pair)
  })
  return joinTries(steps)
}

const STEPS: Readonly<Record<NonNullable<RecordedLine['step']>, (pair: Pair) => TimedStep[]>> = {
  insert(pair) {
    const group = named(pair, pair.begin.begun)
    if (group.length === 0) return []
    const isMet = pair.end?.ended?.isMet === true
    const ended = named(pair, pair.end?.ended)
    const known = isMet ? ended.filter(({ verdict }) => verdict !== 'unknown') : group
    const fresh = isMet ? ended.filter(({ verdict }) => verdict === 'stored') : group
    const step = {
      ...{ kind: 'insert', g: pair.g, concern: pair.begin.begun?.concern ?? '', isMet },
      group: idsOf(known),
      new: idsOf(fresh),
      claimed: idsOf(fresh.filter(({ fence }) => fence === 1)),
    }
    return [timed(step, pair, isMet)]
  },
  answer: (pair) =>
    named(pair, pair.begin.begun)
      .filter(({ verdict }) => verdict === 'stored')
      .map(({ id }) => timed({ kind: 'answer', g: pair.g, e: id }, pair, false)),
  claim(pair) {
    // Without an end, it may have claimed any of the events.
    const taken = pair.end ? named(pair, pair.end.ended) : [...pair.names.values()].map((id) => ({ id, fence: 0 }))
    return taken.map(({ id, fence = 0 }) => timed({ kind: 'claim', g: pair.g, e: id, fence }, pair))
  },
  call: (pair) =>
    named(pair, pair.begin.begun).map(({ id, fence = 0 }) => {
      const { result = '' } = named(pair, pair.end?.ended).find((one) => one.id === id) ?? {}
      return timed({ kind: 'call', g: pair.g, e: id, fence, result }, pair, result !== '')
    }),
  settle: (pair) =>
    named(pair, pair.begin.begun).map(({ id, fence = 0, result = '' }) => {
      const { verdict = 'unknown' } = named(pair, pair.end?.ended).find((one) => one.id === id) ?? {}
      const step = { kind: 'settle', g: pair.g, e: id, fence, result, verdict }
      return { ...timed(step, pair), key: `${pair.g} ${id} ${fence}` }
    }),
  release: (pair) =>
    named(pair, pair.begin.begun).map(({ id, fence = 0 }) => timed({ kind: 'release', g: pair.g, e: id, fence }, pair)),
  crash: (pair) => [timed({ kind: 'crash', g: pair.g }, pair)],
}

/** The events of a note that have names, under their names. An insert may have an event twice: what it stored counts. */
function named({ names }: Pair, note: StepNote | undefined): EventOfStep[] {
  const found = new Map<string, EventOfStep>()
  for (const event of note?.events ?? []) {
    const id = names.get(event.id)
    if (id !== undefined && found.get(id)?.verdict !== 'stored') found.set(id, { ...event, id })
  }
  return [...found.values()]
}

function idsOf(events: readonly EventOfStep[]): string[] {
  return events.map(({ id }) => id)
}

function timed(step: ModelStep, { begin, end }: Pair, isSeen = end !== undefined): TimedStep {
  return { step, begunAt: begin.at, endedAt: isSeen ? (end?.at ?? null) : null }
}

/** A settlement that failed is tried again. Any of the tries may have had the effect. */
function joinTries(steps: readonly TimedStep[]): TimedStep[] {
  const joined: TimedStep[] = []
  for (const step of steps) {
    const earlier = joined.findIndex(({ key, endedAt }) => key !== undefined && key === step.key && endedAt === null)
    const first = joined[earlier]
    if (first === undefined) joined.push(step)
    else joined[earlier] = { ...step, begunAt: first.begunAt }
  }
  return joined
}
