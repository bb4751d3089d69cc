import { runEvery } from '../dispatch/run-every.ts'
import { stripOldBodies } from '../inbox/strip-old-bodies.ts'
import { ReplayRunner } from '../operator/replay-runner.ts'
import type { Foundation } from './gateway-parts.ts'

const HOUR_MS = 3_600_000

/** Starts what goes on beside the way of a delivery: replays that operators asked for, bodies kept long enough. */
export function startHousekeeping({ settings, logger, random, mongo, lifecycle }: Foundation): void {
  const onError = (error: unknown): void => logger.warn({ error }, 'housekeeping.failed')
  const { db } = mongo.background
  const runner = new ReplayRunner({ db, providers: () => settings.providers, random, onError })
  runner.start()
  const strip = runEvery({ task: () => stripOldBodies(db), everyMs: HOUR_MS, random, onError })
  lifecycle.onStop({
    name: 'housekeeping',
    withinMs: 1_500,
    stop: async () => void (await Promise.all([runner.stop(), strip.stop()])),
  })
}
