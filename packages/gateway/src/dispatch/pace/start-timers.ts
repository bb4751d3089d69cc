import { runPeriodically } from '@oncehook/kernel/time/run-periodically'

/** How often a dispatcher looks for due events while there are some, in milliseconds. */
export const POLL_MS = 500
/** How often at most it looks for abandoned events. */
export const TAKEOVER_MS = 1_000
const PAUSES_MS = 1_000

/** What a dispatcher does again and again. */
interface TimersDeps {
  readonly poll: () => Promise<void>
  readonly takeOver: () => Promise<void>
  readonly refreshPauses: () => Promise<void>
  readonly leaseMs: number
  readonly random: () => number
  readonly onError: (error: unknown) => void
}

/** Starts the timers of a dispatcher. */
export function startTimers(deps: TimersDeps): readonly { stop(): Promise<void> }[] {
  const { poll, takeOver, refreshPauses, leaseMs, random, onError } = deps
  return [
    runPeriodically({ task: poll, everyMs: POLL_MS, random, onError }),
    runPeriodically({ task: takeOver, everyMs: Math.min(TAKEOVER_MS, leaseMs / 6), random, onError }),
    runPeriodically({ task: refreshPauses, everyMs: PAUSES_MS, random, onError }),
  ]
}
