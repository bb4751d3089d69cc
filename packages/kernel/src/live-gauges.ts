import { Gauge, type Registry } from 'prom-client'

/** A gauge that shows one side of a state. */
export interface LiveGauge<State> {
  readonly name: string
  readonly help: string
  /** Null where this side of the state is not known. */
  readonly read: (state: State) => number | null
}

/**
 * Adds gauges that look at a state when they are read, all of them by one look. What is not known, because the look
 * failed or a side of it is null, is left out: an old number would pass for a current one.
 */
export function addLiveGauges<State>(
  registry: Registry,
  look: () => Promise<State>,
  gauges: readonly LiveGauge<State>[],
): void {
  let underWay: Promise<State | null> | undefined
  const lookOnce = (): Promise<State | null> => {
    underWay ??= look()
      .catch(() => null)
      .finally(() => {
        underWay = undefined
      })
    return underWay
  }
  for (const { name, help, read } of gauges) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      // Several processes look at the same state: their numbers are one.
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
