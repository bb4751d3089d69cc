import { forkWorker } from '../../fork-worker.ts'

/** Deliveries for several gateways: as many for each. The orders of gateway n begin with `<orderPrefix><n>-`. */
interface SpreadBatch {
  readonly urls: readonly string[]
  readonly secret: string
  /** For each gateway. */
  readonly count: number
  readonly orderPrefix: string
}

/** How signed deliveries are sent to each gateway: by a schedule, or as fast as the answers allow. */
export interface SpreadPlan {
  readonly connections: number
  readonly perSecond: number | null
}

/** Orders for the process that sends. */
export type SpreadOrder = { readonly sign: SpreadBatch } | { readonly send: SpreadPlan }

/** What the gateways answered together. `p99Ms` is that of the slowest gateway. */
export interface SpreadAnswer {
  readonly acknowledged: number
  readonly p99Ms: number
}

/** A process that sends deliveries to several gateways at the same time. */
export interface SpreadLoad extends Disposable {
  readonly pid: number
  sign(batch: SpreadBatch): Promise<void>
  send(plan: SpreadPlan): Promise<SpreadAnswer>
}

/** Starts the process. */
export async function startSpreadLoad(): Promise<SpreadLoad> {
  const { child, ask } = await forkWorker<SpreadOrder>(import.meta.resolve('./spread-process.ts'), {})
  return {
    pid: child.pid ?? 0,
    sign: async (batch) => void (await ask({ sign: batch })),
    send: async (plan) => (await ask({ send: plan })) as SpreadAnswer,
    [Symbol.dispose]: () => void child.kill(),
  }
}
