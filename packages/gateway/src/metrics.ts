import { addPolledGauges, type PolledGauge } from '@oncehook/kernel/log/polled-gauges'
import { oneAtATime, withTimeout } from '@oncehook/kernel/time/waits'
import type { Paused } from '@oncehook/queue/pauses'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { HandlerDepths } from './inbox/statistics/handler-depth.ts'
import { type InboxDepth, oldestUnsettledSeconds } from './inbox/statistics/inbox-depth.ts'

/** Adds one to the provider statistics for operators: deliveries by outcome, or matches of secrets. */
export type ProviderCounter = (provider: string, kind: 'delivery' | 'secret', name: string) => void

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>

/** What the dispatcher of fulfilment counts. */
export type DispatchMetrics = Pick<GatewayMetrics, 'contractMismatch'>

export function createGatewayMetrics(registry: Registry, count: ProviderCounter) {
  const counter = countersIn(registry)
  const deliveries = counter(
    'oncehook_deliveries_total',
    'Deliveries by provider and outcome: recorded, duplicate, unhandled, handshake, the code of the refusal, or asked_in_vain (an address must wait, because it has named three certificates or keys that could not be downloaded)',
    ['provider', 'outcome'],
  )
  const mismatches = counter(
    'oncehook_delivery_mismatches_total',
    'Deliveries whose body differs from the one stored under the same event id',
    ['provider'],
  )
  const reused = counter(
    'oncehook_transmissions_reused_total',
    'Deliveries refused because their transmission arrived with another body before',
    ['provider'],
  )
  const withheld = counter(
    'oncehook_events_withheld_total',
    'Authentic events without an effect, by provider and reason: ambiguous, effect_not_allowed, not_expected, not_paid or unreadable',
    ['provider', 'reason'],
  )
  const attempts = counter(
    'oncehook_event_attempts_total',
    'Attempts to apply an event, by resulting state (done, pending, dead or unhandled) and outcome',
    ['state', 'outcome'],
  )
  const lost = counter('oncehook_claims_lost_total', 'Claims that another process took over before they were settled')
  const unreadable = counter(
    'oncehook_contract_mismatches_total',
    'Batches in which fulfilment could not read any event because its release is not compatible with the gateway',
  )
  const failures = counter(
    'oncehook_verification_failures_total',
    'Deliveries that were not authentic, by provider and reason: header_missing, header_malformed, timestamp_outside_window, signature_mismatch, body_too_large, object_unknown (providers that the gateway asks) or transmission_reused (PayPal)',
    ['provider', 'reason'],
  )
  return {
    ...createLoginMetrics(registry),
    ...createRefusalMetrics(registry),
    ...createRedeliveryMetrics(registry),
    delivered(provider: string, outcome: string): void {
      deliveries.inc({ provider, outcome })
      count(provider, 'delivery', outcome)
    },
    matched: (provider: string, secretId: string): void => count(provider, 'secret', secretId),
    unverified: (provider: string, reason: string): void => failures.inc({ provider, reason }),
    mismatched: (provider: string, times: number): void => mismatches.inc({ provider }, times),
    transmissionReused: (provider: string): void => reused.inc({ provider }),
    withheld: (provider: string, reason: string): void => withheld.inc({ provider, reason }),
    settled: (state: string, outcome: string): void => attempts.inc({ state, outcome }),
    lostClaims: (count: number): void => lost.inc(count),
    contractMismatch: (): void => unreadable.inc(),
  }
}

function createRedeliveryMetrics(registry: Registry) {
  const counter = countersIn(registry)
  const redelivered = counter(
    'oncehook_dead_events_redelivered_total',
    'Redeliveries of dead events by outcome: revived, too_late or too_often',
    ['provider', 'outcome'],
  )
  const dropped = counter(
    'oncehook_redeliveries_dropped_total',
    'Redeliveries that were not counted and could revive no dead event, because too many others waited',
  )
  return {
    redelivered: (provider: string, outcome: string): void => redelivered.inc({ provider, outcome }),
    redeliveryDropped: (): void => dropped.inc(),
  }
}

function countersIn(registry: Registry) {
  return <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name, help, labelNames, registers: [registry] })
}

/** Creates the counters of handlers. They exist only if handlers are configured. */
export function createHandlerMetrics(registry: Registry) {
  const attempts = countersIn(registry)(
    'oncehook_task_attempts_total',
    'Attempts of tasks of handlers, by handler, resulting state and outcome',
    ['handler', 'state', 'outcome'],
  )
  return {
    taskSettled: (handler: string, state: string, outcome: string): void => attempts.inc({ handler, state, outcome }),
  }
}

/**
 * Adds a gauge that queries the tasks of all handlers when it is read, once for all readers at a time. A number that is
 * unknown is left out.
 */
export function addHandlerGauge(
  registry: Registry,
  handlers: {
    names: () => Iterable<string>
    /** Reads the depths of all handlers. Never throws. */
    readDepths: () => Promise<Pick<HandlerDepths, 'of'>>
  },
): void {
  const readOnce = oneAtATime(handlers.readDepths)
  const gauge: Gauge<'handler' | 'state'> = new Gauge({
    name: 'oncehook_tasks_waiting',
    help: 'Tasks of handlers that are pending or dead, by handler and state',
    labelNames: ['handler', 'state'],
    registers: [registry],
    // All processes query the same tasks.
    aggregator: 'first',
    async collect() {
      const depths = await readOnce()
      gauge.reset()
      for (const handler of handlers.names()) {
        const depth = depths.of(handler)
        for (const state of ['pending', 'dead'] as const) {
          const value = depth[state]
          if (value !== null) gauge.set({ handler, state }, value)
        }
      }
    },
  })
}

/** The longest time that metrics wait for the pauses. */
const REFRESH_MS = 1_000

/** Adds a gauge that shows which handlers are paused, and one that shows which answer. */
export function addHandlerStateGauges(
  registry: Registry,
  deps: {
    /** The names of fulfilment and of the configured handlers. */
    names: () => readonly string[]
    refreshPaused: () => Promise<unknown>
    /** The handlers that were paused when this was last read. */
    paused: () => readonly string[]
    /** Whether a handler answers the calls of this process. Null: the process does not call it. */
    isUp: (handler: string) => boolean | null
  },
): void {
  const { names, paused: readPaused, isUp } = deps
  const registers = [registry]
  const refreshOnce = oneAtATime(deps.refreshPaused)
  const paused = new Gauge({
    name: 'oncehook_handler_paused',
    help: 'Whether an operator or the setting has paused this handler: 1 or 0',
    ...{ labelNames: ['handler'], registers },
    // All processes follow the same pauses.
    aggregator: 'max',
    async collect() {
      // A gateway that sends nothing reads them rarely. Prometheus must get the other metrics in an outage too.
      await withTimeout(
        refreshOnce().catch(() => undefined),
        REFRESH_MS,
      )
      const found = new Set(readPaused())
      paused.reset()
      for (const handler of new Set([...names(), ...found])) paused.set({ handler }, Number(found.has(handler)))
    },
  })
  const answers = new Gauge({
    name: 'oncehook_handler_answers',
    help: 'Whether this handler answers the calls of this process, as far as it knows: 1 or 0. It may still refuse every task',
    ...{ labelNames: ['handler'], registers },
    // Each process learns it from its own calls.
    aggregator: 'min',
    collect() {
      answers.reset()
      for (const handler of names()) {
        const isAnswered = isUp(handler)
        if (isAnswered !== null) answers.set({ handler }, Number(isAnswered))
      }
    },
  })
}

function createRefusalMetrics(registry: Registry) {
  const notKept = countersIn(registry)(
    'oncehook_refusals_not_kept_total',
    'Refused deliveries without a record, by reason: too_many, or not_stored by the database',
    ['reason'],
  )
  for (const reason of ['too_many', 'not_stored']) notKept.inc({ reason }, 0)
  return { refusalNotKept: (reason: 'too_many' | 'not_stored', times: number): void => notKept.inc({ reason }, times) }
}

function createLoginMetrics(registry: Registry) {
  const failed = countersIn(registry)(
    'oncehook_authentication_failures_total',
    'Requests without a valid token, by API (orders, operator) and reason (missing, unknown, expired; for sessions also session_unknown, session_other, asked_too_much; for tokens of an issuer also invalid, sign_in, rate_limited, issuer_unreachable; for a sign-in at the issuer issuer_refused, answer_invalid)',
    ['api', 'reason'],
  )
  return { loginFailed: (api: string, reason: string): void => failed.inc({ api, reason }) }
}

/** Adds gauges that query the inbox when they are read, and one that shows which providers are paused. */
export function addInboxGauges(
  registry: Registry,
  inbox: {
    readDepth: () => Promise<InboxDepth>
    paused: () => Paused
    providers: () => Iterable<string>
  },
): void {
  addPolledGauges(registry, inbox.readDepth, [
    ...INBOX_GAUGES,
    {
      name: 'oncehook_events_oldest_unsettled_seconds',
      help: 'Age of the oldest event that is not settled, since it was stored or became due again, without those of paused providers and of paused or removed handlers; 0 if there is none',
      read: (depth) => oldestUnsettledSeconds(depth, inbox.paused()),
    },
  ])
  const gauge = new Gauge({
    name: 'oncehook_provider_paused',
    help: 'Whether an operator has paused this provider: 1 or 0',
    labelNames: ['provider'],
    registers: [registry],
    // All processes follow the same pauses.
    aggregator: 'max',
    collect() {
      gauge.reset()
      const paused = inbox.paused()
      for (const provider of new Set([...inbox.providers(), ...paused.keys()])) {
        gauge.set({ provider }, Number(paused.has(provider)))
      }
    },
  })
}

const INBOX_GAUGES: readonly PolledGauge<InboxDepth>[] = [
  {
    name: 'oncehook_events_unsettled',
    help: 'Events that are due, waiting or being processed',
    read: ({ pending, processing }) => (pending === null || processing === null ? null : pending + processing),
  },
  {
    name: 'oncehook_events_dead',
    help: 'Events that failed permanently and wait for an operator',
    read: ({ dead }) => dead,
  },
  {
    name: 'oncehook_events_closed',
    help: 'Events that failed permanently and that an operator has closed',
    read: ({ closed }) => closed,
  },
]

/** The borders of the buckets of answers, in seconds. */
export const ANSWERED_WITHIN = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

export function createRequestTimer(registry: Registry): Histogram<'route' | 'status'> {
  return new Histogram({
    name: 'oncehook_request_seconds',
    help: 'Seconds from the head of a request to its answer, by route and status',
    labelNames: ['route', 'status'],
    buckets: [...ANSWERED_WITHIN],
    registers: [registry],
  })
}
