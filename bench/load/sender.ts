import { forkWorker } from '../fork-worker.ts'
import type { ForgedBatch } from './forged-deliveries.ts'
import type { LoadPlan, LoadReport } from './load.ts'
import type { DeliveryBatch } from './signed-deliveries.ts'

/** Commands to the sender's process, one at a time. */
export type SenderOrder =
  | { readonly sign: DeliveryBatch }
  | { readonly forge: ForgedBatch }
  | { readonly send: LoadPlan }

/** A process that makes deliveries first and sends them on command. */
export interface Sender extends Disposable {
  readonly pid: number
  sign(batch: DeliveryBatch): Promise<void>
  forge(batch: ForgedBatch): Promise<void>
  send(plan: LoadPlan): Promise<LoadReport>
}

/** Starts a sender; aborting the signal ends it. */
export async function startSender(signal: AbortSignal): Promise<Sender> {
  const { child, ask } = await forkWorker<SenderOrder>(import.meta.resolve('./sender-process.ts'), { signal })
  return {
    pid: child.pid ?? 0,
    sign: async (batch) => void (await ask({ sign: batch })),
    forge: async (batch) => void (await ask({ forge: batch })),
    send: async (plan) => (await ask({ send: plan })) as LoadReport,
    [Symbol.dispose]: () => void child.kill(),
  }
}
