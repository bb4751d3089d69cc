import { CALL_STEPS } from './call-steps.ts'
import type { RecordedEvent, RecordedLine } from './recorded-line.ts'
import { named, type Pair, type TimedStep, timed } from './step-pair.ts'

/** The names that the model has for gateways, by process, and for events, by id. */
export interface ModelNames {
  readonly gateways: ReadonlyMap<number, string>
  readonly events: ReadonlyMap<string, string>
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
  ...CALL_STEPS,
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
      claimed: idsOf(fresh.filter(({ starts }) => starts === 1)),
    }
    return [timed(step, pair, isMet)]
  },
  answer: (pair) =>
    named(pair, pair.begin.begun)
      .filter(({ verdict }) => verdict === 'stored')
      .map(({ id }) => timed({ kind: 'answer', g: pair.g, e: id }, pair, false)),
  claim: (pair) => claimed(pair, 'claim'),
  takeover: (pair) => claimed(pair, 'takeover'),
  call: (pair) =>
    named(pair, pair.begin.begun).map(({ id, starts = 0 }) => {
      const { result = '' } = named(pair, pair.end?.ended).find((one) => one.id === id) ?? {}
      return timed({ kind: 'call', g: pair.g, e: id, starts, result }, pair, result !== '')
    }),
  settle: (pair) =>
    named(pair, pair.begin.begun).map(({ id, starts = 0, result = '' }) => {
      const { verdict = 'unknown' } = named(pair, pair.end?.ended).find((one) => one.id === id) ?? {}
      const step = { kind: 'settle', g: pair.g, e: id, starts, result, verdict }
      return { ...timed(step, pair), key: `${pair.g} ${id} ${starts}` }
    }),
  release: (pair) =>
    named(pair, pair.begin.begun).map(({ id, starts = 0 }) =>
      timed({ kind: 'release', g: pair.g, e: id, starts }, pair),
    ),
  crash: (pair) => [timed({ kind: 'crash', g: pair.g }, pair)],
  replay: (pair) => named(pair, pair.begin.begun).map(({ id }) => timed({ kind: 'replay', e: id }, pair)),
}

function claimed(pair: Pair, kind: string): TimedStep[] {
  // Without an end, it may have claimed any of the events.
  const taken = pair.end ? named(pair, pair.end.ended) : [...pair.names.values()].map((id) => ({ id, starts: 0 }))
  return taken.map(({ id, starts = 0 }) => timed({ kind, g: pair.g, e: id, starts }, pair))
}

function idsOf(events: readonly RecordedEvent[]): string[] {
  return events.map(({ id }) => id)
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
