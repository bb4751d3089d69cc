import type { DispatcherDeps } from '../dispatch/dispatcher.ts'
import type { UsedPauses } from '../dispatch/pace/fresh-pauses.ts'
import { createClaims } from '../inbox/claims/claims.ts'
import { type DueProbe, probedClaims } from '../inbox/claims/due-probe.ts'
import type { Steadiness } from '../inbox/claims/steadiness.ts'
import { readRetention } from '../inbox/retention/retention.ts'
import type { GatewayContext } from './gateway-context.ts'

/** What all dispatchers of a process share. */
export interface SharedDispatching {
  readonly probe: DueProbe
  readonly steadiness: Steadiness
  /** The pauses of providers, joined with those of handlers. */
  readonly pauses: UsedPauses
}

/** What a dispatcher of any handler has. */
export function describeDispatcher(
  { logger, random, metrics, mongo, clock, settings }: GatewayContext,
  { pauses }: SharedDispatching,
): Pick<DispatcherDeps, 'pauses' | 'random' | 'now' | 'databaseNow' | 'wallNow' | 'logger' | 'onLost' | 'leaseMs'> {
  return {
    ...{ pauses, random, now, logger },
    leaseMs: settings.LEASE_MS,
    databaseNow: mongo.background.databaseNow,
    wallNow: () => clock.now(),
    onLost: metrics.lostClaims,
  }
}

/** Whose claims they are. */
interface Claiming {
  readonly handler: string
  /** How long a call may take, in milliseconds. */
  readonly callMs: number
  readonly ordering?: { readonly blockOnDead: boolean } | undefined
}

/** Creates the claims of a handler. */
export function createOwnClaims(
  { settings, mongo, pauses, databaseErrors, logger }: GatewayContext,
  { probe, steadiness }: SharedDispatching,
  { handler, callMs, ordering }: Claiming,
): ReturnType<typeof createClaims> {
  const claims = createClaims({
    ...readRetention(settings),
    ...{ handler, ordering, steadiness, db: mongo.background.db },
    lastsMs: settings.LEASE_MS + callMs,
    maxCrashes: settings.MAX_CRASHES,
    maxDelayMs: settings.RETRY_CAP_MS,
    paused: () => pauses.current,
    onLineFailed(error) {
      databaseErrors.count(error)
      logger.warn({ error, handler }, 'line.not-advanced')
    },
  })
  return databaseErrors.watch(probedClaims(claims, { handler, probe, now }))
}

function now(): number {
  return performance.now()
}
