import type { Worker } from 'node:cluster'
import type { ShownMetrics } from '@oncehook/kernel/http/server/probes'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { AggregatorRegistry, type Registry } from 'prom-client'

interface Question {
  readonly allMetrics: number
}

interface Answer extends Question {
  /** Null if they could not be gathered. */
  readonly text: string | null
}

// The supervisor waits up to five seconds for a stuck worker.
const GATHERED_WITHIN_MS = 7_000

/** In the supervisor: answers a worker's request for the metrics of all workers. */
export function answerMetrics(worker: Worker, all: { clusterMetrics(): Promise<string> }): void {
  worker.on('message', async (message: unknown) => {
    if (!isAboutMetrics(message)) return
    const text = await all.clusterMetrics().catch(() => null)
    if (worker.isConnected()) worker.send({ ...message, text } satisfies Answer)
  })
}

/** In a worker: adds its metrics to those of all workers. Each worker can then show the metrics of all. */
export function shareMetrics(registry: Registry, channel: NodeJS.Process): ShownMetrics {
  AggregatorRegistry.setRegistries([registry])
  new AggregatorRegistry() // answers the supervisor from now on
  const open = new Map<number, (text: string | null) => void>()
  let asked = 0
  channel.on('message', (message: unknown) => {
    if (!isAboutMetrics(message)) return
    open.get(message.allMetrics)?.((message as Answer).text)
  })
  return {
    contentType: registry.contentType,
    async metrics() {
      const { promise, resolve } = Promise.withResolvers<string | null>()
      asked += 1
      const asking = asked
      open.set(asking, resolve)
      channel.send?.({ allMetrics: asking } satisfies Question)
      const text = await withTimeout(promise, GATHERED_WITHIN_MS)
      open.delete(asking)
      if (text === TIMED_OUT || text === null) throw new Error('The metrics of all workers could not be gathered')
      return text
    },
  }
}

function isAboutMetrics(message: unknown): message is Question {
  return typeof message === 'object' && message !== null && 'allMetrics' in message
}
