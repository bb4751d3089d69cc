import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nextMessage } from '../next-message.ts'
import type { LoadPlan, LoadReport } from './load-report.ts'
import type { DeliveryBatch } from './signed-deliveries.ts'

/** What the sender's process is told to do, one thing at a time. */
export type SenderOrder = { readonly sign: DeliveryBatch } | { readonly send: LoadPlan }

/** A process that signs deliveries first and sends them when told. */
export interface Sender extends Disposable {
  readonly pid: number
  sign(batch: DeliveryBatch): Promise<void>
  send(plan: LoadPlan): Promise<LoadReport>
}

/** Starts a sender; aborting the signal ends it. */
export async function startSender(signal: AbortSignal): Promise<Sender> {
  const child = fork(fileURLToPath(import.meta.resolve('./sender-process.ts')), { signal })
  await nextMessage(child)
  const ask = (order: SenderOrder): Promise<unknown> => {
    child.send(order)
    return nextMessage(child)
  }
  return {
    pid: child.pid ?? 0,
    sign: async (batch) => void (await ask({ sign: batch })),
    send: async (plan) => (await ask({ send: plan })) as LoadReport,
    [Symbol.dispose]: () => void child.kill(),
  }
}
