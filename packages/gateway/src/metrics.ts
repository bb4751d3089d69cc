import { addPolledGauges, type PolledGauge } from '@oncehook/kernel/polled-gauges'
import { Counter, Histogram, type Registry } from 'prom-client'
import { type InboxDepth, oldestUnsettledSeconds } from './inbox/inbox-depth.ts'

/** Counts deliveries by what became of them. */
export interface DeliveryMetrics {
  delivered(provider: string, outcome: string): void
  /** A secret matched. */
  matched(provider: string, secretId: string): void
  /** A delivery was not authentic, by the class of the reason. */
  unverified(provider: string, reason: string): void
  mismatched(provider: string, times: number): void
  /** An authentic event is kept without an effect because its provider's settings do not allow or expect it. */
  withheld(provider: string, reason: string): void
  /** A transmission came again with another body: somebody has caught a delivery. */
  transmissionReused(provider: string): void
  /** A repeated delivery of a dead event, by what it came to: revived, too_late or too_often. */
  redelivered(provider: string, outcome: string): void
}

/** Counts what the dispatcher did. */
export interface DispatchMetrics {
  settled(state: string, outcome: string): void
  lostClaims(count: number): void
  /** Fulfilment could read no event of a batch. */
  contractMismatch(): void
}

/** Counts callers that could not prove who they are. */
interface LoginMetrics {
  loginFailed(api: string, reason: string): void
}

/** Adds one to what operators see of a provider: its deliveries by outcome, the matches of its secrets. */
export type Tally = (provider: string, kind: 'delivery' | 'secret', name: string) => void

/** All counters of the gateway. */
export type GatewayMetrics = DeliveryMetrics & DispatchMetrics & LoginMetrics

/** Creates the gateway's counters in a registry. */
export function createGatewayMetrics(registry: Registry, tally: Tally): GatewayMetrics {
  const registers = [registry]
  const deliveries = new Counter({
    name: 'oncehook_deliveries_total',
    help: 'Deliveries by provider and outcome: recorded, duplicate, unhandled, handshake, asked_in_vain, or the code of the refusal',
    labelNames: ['provider', 'outcome'],
    registers,
  })
  const mismatches = new Counter({
    name: 'oncehook_delivery_mismatches_total',
    help: 'Deliveries whose body differs from the one stored under the same event id',
    labelNames: ['provider'],
    registers,
  })
  const reused = new Counter({
    name: 'oncehook_transmissions_reused_total',
    help: 'Deliveries refused because their transmission came with another body before',
    labelNames: ['provider'],
    registers,
  })
  const withheld = new Counter({
    name: 'oncehook_events_withheld_total',
    help: 'Authentic events without an effect, by provider and reason: not_expected or effect_not_allowed',
    labelNames: ['provider', 'reason'],
    registers,
  })
  const redelivered = new Counter({
    name: 'oncehook_dead_events_redelivered_total',
    help: 'Repeated deliveries of dead events, by what they came to: revived, too_late or too_often',
    labelNames: ['provider', 'outcome'],
    registers,
  })
  const attempts = new Counter({
    name: 'oncehook_event_attempts_total',
    help: 'Tries to give an event its effect, by the state they led to and their outcome',
    labelNames: ['state', 'outcome'],
    registers,
  })
  const lost = new Counter({
    name: 'oncehook_claims_lost_total',
    help: 'Claims that another worker had taken over before they were settled',
    registers,
  })
  const unreadable = new Counter({
    name: 'oncehook_contract_mismatches_total',
    help: 'Batches of which fulfilment could read no event: the releases of the two do not fit',
    registers,
  })
  const failures = new Counter({
    name: 'oncehook_verification_failures_total',
    help: 'Deliveries that were not authentic, by provider and class of the reason',
    labelNames: ['provider', 'reason'],
    registers,
  })
  return {
    ...createLoginMetrics(registry),
    delivered(provider, outcome) {
      deliveries.inc({ provider, outcome })
      tally(provider, 'delivery', outcome)
    },
    matched: (provider, secretId) => tally(provider, 'secret', secretId),
    unverified: (provider, reason) => failures.inc({ provider, reason }),
    mismatched: (provider, times) => mismatches.inc({ provider }, times),
    transmissionReused: (provider) => reused.inc({ provider }),
    withheld: (provider, reason) => withheld.inc({ provider, reason }),
    redelivered: (provider, outcome) => redelivered.inc({ provider, outcome }),
    settled: (state, outcome) => attempts.inc({ state, outcome }),
    lostClaims: (count) => lost.inc(count),
    contractMismatch: () => unreadable.inc(),
  }
}

function createLoginMetrics(registry: Registry): LoginMetrics {
  const failed = new Counter({
    name: 'oncehook_authentication_failures_total',
    help: 'Requests without a valid token, by API (orders, operator) and reason (missing, unknown, expired; for tokens of an issuer also invalid, issuer_unreachable)',
    labelNames: ['api', 'reason'],
    registers: [registry],
  })
  return { loginFailed: (api, reason) => failed.inc({ api, reason }) }
}

/** Adds gauges that ask the inbox when they are read. */
export function addInboxGauges(registry: Registry, readDepth: () => Promise<InboxDepth>): void {
  addPolledGauges(registry, readDepth, INBOX_GAUGES)
}

const INBOX_GAUGES: readonly PolledGauge<InboxDepth>[] = [
  {
    name: 'oncehook_events_unsettled',
    help: 'Events that are due, waiting or being processed',
    read: ({ pending, processing }) => (pending === null || processing === null ? null : pending + processing),
  },
  {
    name: 'oncehook_events_dead',
    help: 'Events that failed for good and wait for an operator',
    read: ({ dead }) => dead,
  },
  {
    name: 'oncehook_events_closed',
    help: 'Events that failed for good and that an operator has closed',
    read: ({ closed }) => closed,
  },
  {
    name: 'oncehook_events_oldest_unsettled_seconds',
    help: 'Age of the oldest event that is not settled, 0 where there is none',
    read: oldestUnsettledSeconds,
  },
]

/** Adds the histogram of the seconds that requests took, by route and status. */
export function createRequestTimer(registry: Registry): Histogram<'route' | 'status'> {
  return new Histogram({
    name: 'oncehook_request_seconds',
    help: 'Seconds from the head of a request to its answer, by route and status',
    labelNames: ['route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
}
