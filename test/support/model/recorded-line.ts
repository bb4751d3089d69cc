import { readFile } from 'node:fs/promises'
import type { CallStepName, EventOfCall } from '@oncehook/fulfilment/testing/recording/record-calls'
import type { EventOfStep, StepName, StepNote } from '@oncehook/gateway/testing/recording/record-steps'

/** What a step of either service says about an event. */
export type RecordedEvent = Omit<EventOfStep & EventOfCall, 'verdict'> & { readonly verdict?: string }

/** What was recorded when a step of either service began or ended. */
export interface RecordedNote extends Omit<StepNote, 'events'> {
  /** The call of fulfilment. */
  readonly call?: number
  readonly events: readonly RecordedEvent[]
}

/** The beginning or the end of a step of a process, or its death. */
export interface RecordedLine {
  /** Nanoseconds of the machine's monotonic clock, which all its processes share. */
  readonly at: bigint
  /** The process. */
  readonly by: number
  /** The number of the step. Its beginning and its end have the same. */
  readonly id: number
  /** What begins. An end has none. */
  readonly step?: StepName | CallStepName | 'crash' | 'replay'
  readonly begun?: RecordedNote
  readonly ended?: RecordedNote
}

/** Writes what happens now as a line of a recording. */
export function toLine(line: Omit<RecordedLine, 'at'>): string {
  return `${JSON.stringify({ at: String(process.hrtime.bigint()), ...line })}\n`
}

/** Reads a recording, in the order of time. A line that is still being written is left out. */
export async function readRecording(file: string): Promise<RecordedLine[]> {
  const content = await readFile(file, 'utf8').catch(() => '')
  const lines = content.split('\n').slice(0, -1)
  const parsed = lines.map((line): RecordedLine => {
    const { at, ...rest } = JSON.parse(line) as Omit<RecordedLine, 'at'> & { readonly at: string }
    return { ...rest, at: BigInt(at) }
  })
  return parsed.toSorted((one, other) => (one.at < other.at ? -1 : Number(one.at > other.at)))
}
