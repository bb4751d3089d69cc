import type { RecordedLine } from './recorded-line.ts'

/** How records of a run came to another claim than that of their holder. */
export interface Takeovers {
  /** How many were taken over from a process that had been killed. */
  readonly fromDead: number
  /** How many were taken over from a process that lived, but had slept past the end of its claim. */
  readonly fromSleeper: number
  /** How many were taken over from a process that lived, but did not know of its claim: the answer to its insert was lost. */
  readonly fromUnaware: number
}

/** Counts the takeovers of a recording. Those of tasks that their holder gave back after a broken call are none. */
export function countTakeovers(lines: readonly RecordedLine[]): Takeovers {
  const died = new Map(lines.filter(({ step }) => step === 'crash').map(({ by, at }) => [by, at]))
  const holders = findHolders(lines)
  const givenBack = new Set(endsOf(lines, ['settle', 'release']).flatMap(({ ended }) => keysOf(ended)))
  const found = endsOf(lines, ['takeover']).flatMap(({ at, ended }) =>
    (ended?.events ?? []).flatMap(({ id, starts = 0 }): (keyof Takeovers)[] => {
      const holder = holders.get(keyOf(id, starts - 1))
      const diedAt = died.get(holder?.by ?? 0)
      if (diedAt !== undefined && diedAt < at) return ['fromDead']
      if (holder?.isAware === false) return ['fromUnaware']
      return givenBack.has(keyOf(id, starts - 1)) ? [] : ['fromSleeper']
    }),
  )
  const countOf = (kind: keyof Takeovers): number => found.filter((one) => one === kind).length
  return { fromDead: countOf('fromDead'), fromSleeper: countOf('fromSleeper'), fromUnaware: countOf('fromUnaware') }
}

/** Who held which claim, and whether that process knew. */
function findHolders(lines: readonly RecordedLine[]) {
  const answered = new Set(endsOf(lines, ['insert']).map(nameOf))
  const inserts = lines.filter(({ step }) => step === 'insert')
  const claims = endsOf(lines, ['claim', 'takeover'])
  // The first insert stored the record: a redelivery to another process was a duplicate.
  return new Map([
    ...claims.flatMap(({ by, ended }) => keysOf(ended).map((key) => [key, { by, isAware: true }] as const)),
    ...inserts
      .toReversed()
      .flatMap((line) =>
        keysOf(line.begun).map((key) => [key, { by: line.by, isAware: answered.has(nameOf(line)) }] as const),
      ),
  ])
}

/** The ends of these steps. */
function endsOf(lines: readonly RecordedLine[], wanted: readonly string[]): RecordedLine[] {
  const begun = new Set(lines.filter(({ step = '' }) => wanted.includes(step)).map(nameOf))
  return lines.filter((line) => line.ended !== undefined && begun.has(nameOf(line)))
}

function nameOf({ by, id }: RecordedLine): string {
  return `${by} ${id}`
}

function keysOf(note: RecordedLine['begun']): string[] {
  // A settlement that lost its claim gave nothing back.
  const events = (note?.events ?? []).filter(({ verdict }) => verdict !== 'lost')
  return events.map(({ id, starts = 0 }) => keyOf(id, starts))
}

function keyOf(id: string, starts: number): string {
  return `${id} ${starts}`
}
