import type { RecordedEvent, RecordedLine, RecordedNote } from './recorded-line.ts'

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

/** The beginning of a step and its end, if there is one. */
export interface Pair {
  readonly begin: RecordedLine
  readonly end: RecordedLine | undefined
  /** The name of the gateway. Empty for fulfilment. */
  readonly g: string
  /** The names that the model has for events, by id. */
  readonly names: ReadonlyMap<string, string>
}

/** The events of a note that have names, under their names. An insert may have an event twice: what it stored counts. */
export function named({ names }: Pair, note: RecordedNote | undefined): RecordedEvent[] {
  const found = new Map<string, RecordedEvent>()
  for (const event of note?.events ?? []) {
    const id = names.get(event.id)
    if (id !== undefined && found.get(id)?.verdict !== 'stored') found.set(id, { ...event, id })
  }
  return [...found.values()]
}

/** A step with its times. `isSeen`: whether its end counts. */
export function timed(step: ModelStep, { begin, end }: Pair, isSeen = end !== undefined): TimedStep {
  return { step, begunAt: begin.at, endedAt: isSeen ? (end?.at ?? null) : null }
}
