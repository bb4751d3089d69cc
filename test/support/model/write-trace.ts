import type { Trace } from '../../../scripts/model/check-trace.ts'
import { CALL_STEPS } from './call-steps.ts'
import { modelSteps } from './model-steps.ts'
import type { RecordedLine } from './recorded-line.ts'
import type { ModelStep, TimedStep } from './step-pair.ts'

/** The name that the model has for an event: `e1` and `e2` are about the first order of their payment, `e3` about the second. */
export type EventName = 'e1' | 'e2' | 'e3'

/** A payment of a recorded run: its events, and what the database has of them at the end. */
export interface RecordedPayment {
  readonly events: readonly {
    readonly id: string
    readonly name: EventName
    readonly state: string
    readonly starts: number
  }[]
}

/** Writes the steps of each payment as a module of TLA+. */
export function writeTrace(lines: readonly RecordedLine[], payments: readonly RecordedPayment[]): Trace {
  const ofGateways = lines.filter(({ step }) => step !== undefined && step !== 'replay' && !(step in CALL_STEPS))
  const processes = [...new Set(ofGateways.map(({ by }) => by))]
  const gateways = new Map(processes.map((by, index) => [by, `g${index + 1}`]))
  const written = payments.map(({ events }) => {
    const names = new Map(events.map(({ id, name }) => [id, name]))
    const steps = modelSteps(lines, { gateways, events: names })
    const stored = events.map(({ name, state, starts }) => ({ kind: 'stored', e: name, state, starts }))
    return writePayment(steps, stored)
  })
  const records = written.map(({ steps, lines: own }) => `[steps |-> ${tuple(steps)},\n  lines |-> ${tuple(own)}]`)
  const body = [`RecordedGateways == ${toTla([...gateways.values()])}`, `Recorded ==\n ${tuple(records)}`]
  return {
    module: ['---- MODULE Recorded ----', 'EXTENDS Integers', ...body, '====', ''].join('\n'),
    payments: written.map(({ said }) => said),
  }
}

function writePayment(steps: readonly TimedStep[], stored: readonly ModelStep[]) {
  const moments = steps.flatMap(({ begunAt, endedAt }, index) => [
    { at: begunAt, line: index + 1 },
    ...(endedAt === null ? [] : [{ at: endedAt, line: -index - 1 }]),
  ])
  moments.sort((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)))
  const all = [...steps.map(({ step }) => step), ...stored]
  const lines = [...moments.map(({ line }) => line), ...stored.map((_, index) => steps.length + index + 1)]
  return {
    steps: all.map(toTla),
    lines: lines.map(String),
    said: lines.map((line) => `${line > 0 ? 'begin' : 'end'} ${toTla(all[Math.abs(line) - 1] ?? {})}`),
  }
}

function tuple(members: readonly string[]): string {
  return `<<${members.join(',\n   ')}>>`
}

function toTla(value: ModelStep | ModelStep[string]): string {
  if (typeof value === 'string') return `"${value}"`
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  if (typeof value === 'number') return String(value)
  if (isList(value)) return `{${value.map(toTla).join(', ')}}`
  const members = Object.entries(value).map(([name, member]) => `${name} |-> ${toTla(member)}`)
  return `[${members.join(', ')}]`
}

function isList(value: ModelStep | readonly string[]): value is readonly string[] {
  return Array.isArray(value)
}
