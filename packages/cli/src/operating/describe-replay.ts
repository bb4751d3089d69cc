import { toPrintable, toTime } from '../output.ts'
import type { ReplayProgress } from './watch-replay.ts'

/** How a replay stands, for people. */
export function describeReplay(progress: ReplayProgress): string[] {
  const { state, matched, started, done, failed, by, reason, startedAt, finishedAt } = progress
  return [
    `State     ${state}`,
    `Begun     ${toTime(startedAt)} by ${toPrintable(by)}: ${toPrintable(reason)}`,
    ...(finishedAt === null ? [] : [`Ended     ${toTime(finishedAt)}`]),
    `Events    ${matched} meant, ${started} made due again: ${done} settled, ${failed} dead again`,
  ]
}
