import { Gauge, type Registry } from 'prom-client'

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

/**
 * The same look, which at most once at a time is in progress. A caller that comes in the meantime gets the result of the
 * one in progress, so a slow database is not asked more often the more callers wait for it.
 */
export function oneAtATime<T>(look: () => Promise<T>): () => Promise<T> {
  let latest: Promise<T> | undefined
  return () => {
    latest ??= look().finally(() => {
      latest = undefined
    })
    return latest
  }
}
