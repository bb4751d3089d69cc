import { readFile } from 'node:fs/promises'
import type { StepName, StepNote } from '@oncehook/gateway/testing/recording/record-steps'

/** The beginning or the end of a step of a process, or its death. */
export interface RecordedLine {
  /** Nanoseconds of the machine's monotonic clock, which all its processes share. */
  readonly at: bigint
  /** The process. */
  readonly by: number
  /** The number of the step. Its beginning and its end have the same. */
  readonly id: number
  /** What begins. An end has none. */
  readonly step?: StepName | 'crash'
  readonly begun?: StepNote
  readonly ended?: StepNote
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
