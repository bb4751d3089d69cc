import { Gauge, type Registry } from 'prom-client'
import { oneAtATime } from '../time/waits.ts'

export interface PolledGauge<State> {
  readonly name: string
  readonly help: string
  /** Null if the value is unknown. */
  readonly read: (state: State) => number | null
}

/**
 * Adds gauges that query a state at each scrape, with one query for all of them. If the query fails or a value is
 * null, the gauge is omitted, because an old value would look current.
 */
export function addPolledGauges<State>(
  registry: Registry,
  look: () => Promise<State>,
  gauges: readonly PolledGauge<State>[],
): void {
  const lookOnce = oneAtATime(() => look().catch(() => null))
  for (const { name, help, read } of gauges) {
    const gauge: InstanceType<typeof Gauge> = new Gauge({
      name,
      help,
      registers: [registry],
      // All processes query the same state, so their values are equal.
      aggregator: 'first',
      async collect() {
        const state = await lookOnce()
        const value = state === null ? null : read(state)
        if (value === null) gauge.remove()
        else gauge.set(value)
      },
    })
  }
}
