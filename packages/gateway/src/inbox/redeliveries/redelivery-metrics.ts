import type { Registry } from 'prom-client'
import { Counter } from 'prom-client'

/** Counts redeliveries. */
export interface RedeliveryMetrics {
  /** A redelivery of a dead event, by outcome: revived, too_late, too_often or body_missing. */
  redelivered(provider: string, outcome: string): void
  /** A redelivery was answered, but not counted, because too many others wait. */
  redeliveryDropped(): void
}

/** Creates the counters of redeliveries in a registry. */
export function createRedeliveryMetrics(registry: Registry): RedeliveryMetrics {
  const redelivered = new Counter({
    name: 'oncehook_dead_events_redelivered_total',
    help: 'Redeliveries of dead events by outcome: revived, too_late, too_often or body_missing',
    labelNames: ['provider', 'outcome'],
    registers: [registry],
  })
  const dropped = new Counter({
    name: 'oncehook_redeliveries_dropped_total',
    help: 'Redeliveries that were not counted and could revive no dead event, because too many others waited',
    registers: [registry],
  })
  return {
    redelivered: (provider, outcome) => redelivered.inc({ provider, outcome }),
    redeliveryDropped: () => dropped.inc(),
  }
}
