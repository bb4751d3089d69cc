import type { CurvePoint, Trial, TrialRun } from '../trial.ts'
import type { Drive } from './drive.ts'
import { isBorne } from './saturation.ts'
import { type TrialSubject, warmedTrial } from './warmed-trial.ts'

/** The rates to try, lowest first. */
export interface HighestRateTrial extends TrialSubject {
  readonly rates: readonly number[]
}

const GRACE_MS = 3_000

/**
 * Raises the rate of an open load until the receiver fails twice at the same rate, because one hiccup of the machine is
 * not a limit. Every rate that was tried is a point of the curve of latency against rate.
 */
export function createHighestRateTrial({ rates, ...subject }: HighestRateTrial): Trial {
  return warmedTrial(subject, async ({ drive, given }) => {
    const { curve, foreignShare } = await climb(drive, given, rates)
    const borne = curve.filter(isBorne).map(({ perSecond }) => perSecond)
    return {
      // Without a sustained rate, no ratio can be computed.
      figures: borne.length === 0 ? {} : { highestPerSecond: Math.max(...borne) },
      lost: await drive.countLost(),
      failed: {},
      foreignShare,
      curve,
    }
  })
}

async function climb(drive: Drive, given: TrialRun, rates: readonly number[]) {
  const curve: CurvePoint[] = []
  let foreignShare = 0
  for (const perSecond of rates) {
    const attempts = [await tryRate(drive, given, { perSecond, attempt: 1 })]
    if (!attempts.every(({ point }) => isBorne(point)))
      attempts.push(await tryRate(drive, given, { perSecond, attempt: 2 }))
    const best = attempts.reduce((one, other) => (other.point.p99Ms < one.point.p99Ms ? other : one))
    curve.push(best.point)
    foreignShare = Math.max(foreignShare, best.foreignShare)
    if (!isBorne(best.point)) break
  }
  return { curve, foreignShare }
}

async function tryRate(
  drive: Drive,
  { run, effort }: TrialRun,
  { perSecond, attempt }: { readonly perSecond: number; readonly attempt: number },
) {
  const { report, usage } = await drive.load({
    orderPrefix: `${run}-${perSecond}-${attempt}-`,
    count: Math.ceil(perSecond * (effort.stepMs / 1_000)),
    plan: { kind: 'open', connections: effort.connections, perSecond, graceMs: GRACE_MS },
  })
  const failed = Object.values(report.failed).reduce((sum, count) => sum + count, 0)
  const point = { perSecond, p50Ms: report.latency.p50, p99Ms: report.latency.p99, failed }
  return { point, foreignShare: usage.foreignShare }
}
