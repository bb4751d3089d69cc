import { toPrintable, toTime } from '../output.ts'
import type { ReplayProgress } from './watch-replay.ts'

/** The progress of a replay, as text. */
export function describeReplay(progress: ReplayProgress): string[] {
  const { state, matched, started, done, failed, by, reason, startedAt, finishedAt, notRead } = progress
  return [
    `State     ${state}`,
    `Started   ${toTime(startedAt)} by ${toPrintable(by)}: ${toPrintable(reason)}`,
    ...(finishedAt === null ? [] : [`Ended     ${toTime(finishedAt)}`]),
    `Events    ${matched} matched at the start, ${started} made due again: ${done} settled, ${failed} dead again`,
    ...describeNotRead(notRead),
  ]
}

/** A line about events that could not be remapped; no line if there are none. */
export function describeNotRead(notRead: number): string[] {
  if (notRead === 0) return []
  return [`Mapping   ${notRead} could not be remapped and keep their old mapping (\`events show\` gives the reason)`]
}
