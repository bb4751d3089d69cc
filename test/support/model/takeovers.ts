import type { RecordedLine } from './recorded-line.ts'

/** How records of a run came to another process than their holder. */
export interface Takeovers {
  /** How many were taken over from a process that had been killed. */
  readonly fromDead: number
  /** How many were taken over from a process that lived, but had slept past its lease. */
  readonly fromSleeper: number
  /** How many stray records were released. */
  readonly strays: number
}

/** Counts the takeovers and the releases of a recording. */
export function countTakeovers(lines: readonly RecordedLine[]): Takeovers {
  const ends = (wanted: string): RecordedLine[] => {
    const begun = new Set(lines.filter(({ step }) => step === wanted).map(nameOf))
    return lines.filter((line) => line.ended !== undefined && begun.has(nameOf(line)))
  }
  const inserts = lines.filter(({ step }) => step === 'insert').flatMap((line) => holdsOf(line, line.begun))
  const claims = [...ends('claim'), ...ends('takeover')].flatMap((line) => holdsOf(line, line.ended))
  // The first insert stored the record: a redelivery to another process was a duplicate.
  const holders = new Map([...claims, ...inserts.toReversed()].map(({ key, by }) => [key, by]))
  const died = new Map(lines.filter(({ step }) => step === 'crash').map(({ by, at }) => [by, at]))
  const takenOver = ends('takeover').flatMap(({ at, ended }) =>
    (ended?.events ?? []).map(({ id, fence = 0 }) => {
      const diedAt = died.get(holders.get(`${id} ${fence - 1}`) ?? 0)
      return diedAt !== undefined && diedAt < at
    }),
  )
  const fromDead = takenOver.filter((isDead) => isDead).length
  const strays = ends('stray').reduce((sum, { ended }) => sum + (ended?.strays ?? 0), 0)
  return { fromDead, fromSleeper: takenOver.length - fromDead, strays }
}

function nameOf({ by, id }: RecordedLine): string {
  return `${by} ${id}`
}

function holdsOf({ by }: RecordedLine, note: RecordedLine['begun']) {
  return (note?.events ?? []).map(({ id, fence = 0 }) => ({ key: `${id} ${fence}`, by }))
}
