import { forkWorker } from '../fork-worker.ts'
import type { ForgedBatch } from './forged-deliveries.ts'
import type { LoadPlan, LoadReport } from './load-report.ts'
import type { DeliveryBatch } from './signed-deliveries.ts'

/** Commands to the sender's process, one at a time. Only a running load can be cut. */
export type SenderOrder =
  | { readonly sign: DeliveryBatch }
  | { readonly forge: ForgedBatch }
  | { readonly send: LoadPlan }
  | { readonly cut: true }

/** A process that makes deliveries first and sends them on command. */
export interface Sender extends Disposable {
  readonly pid: number
  sign(batch: DeliveryBatch): Promise<void>
  forge(batch: ForgedBatch): Promise<void>
  send(plan: LoadPlan): Promise<LoadReport>
  /** Ends a running open load: deliveries that fall due from now on are not sent. */
  cut(): void
}

/** Starts a sender; aborting the signal ends it. */
export async function startSender(signal: AbortSignal): Promise<Sender> {
  const { child, ask } = await forkWorker<SenderOrder>(import.meta.resolve('./sender-process.ts'), { signal })
  return {
    pid: child.pid ?? 0,
    sign: async (batch) => void (await ask({ sign: batch })),
    forge: async (batch) => void (await ask({ forge: batch })),
    send: async (plan) => (await ask({ send: plan })) as LoadReport,
    cut: () => void child.send({ cut: true } satisfies SenderOrder),
    [Symbol.dispose]: () => void child.kill(),
  }
}
