import type { Worker } from 'node:cluster'
import { AggregatorRegistry, type Registry } from 'prom-client'

/** What the metrics endpoint shows. */
export type ShownMetrics = Pick<Registry, 'contentType' | 'metrics'>

interface Question {
  readonly allMetrics: number
}

interface Answer extends Question {
  /** Null where they could not be gathered. */
  readonly text: string | null
}

/** In the supervisor: answers a worker that asks for the metrics of all. */
export function answerMetrics(worker: Worker, all: { clusterMetrics(): Promise<string> }): void {
  worker.on('message', async (message: unknown) => {
    if (!isAboutMetrics(message)) return
    const text = await all.clusterMetrics().catch(() => null)
    if (worker.isConnected()) worker.send({ ...message, text } satisfies Answer)
  })
}

/** In a worker: its own metrics become part of those of all, which are shown whichever worker is asked. */
export function shareMetrics(registry: Registry, channel: NodeJS.Process): ShownMetrics {
  AggregatorRegistry.setRegistries([registry])
  new AggregatorRegistry() // answers the supervisor from now on
  const open = new Map<number, (text: string | null) => void>()
  let asked = 0
  channel.on('message', (message: unknown) => {
    if (!isAboutMetrics(message)) return
    open.get(message.allMetrics)?.((message as Answer).text)
    open.delete(message.allMetrics)
  })
  return {
    contentType: registry.contentType,
    async metrics() {
      const { promise, resolve } = Promise.withResolvers<string | null>()
      asked += 1
      open.set(asked, resolve)
      channel.send?.({ allMetrics: asked } satisfies Question)
      const text = await promise
      if (text === null) throw new Error('The metrics of all workers could not be gathered')
      return text
    },
  }
}

function isAboutMetrics(message: unknown): message is Question {
  return typeof message === 'object' && message !== null && 'allMetrics' in message
}
