import { addPolledGauges } from '@oncehook/kernel/log/polled-gauges'
import { Counter, Histogram, type Registry } from 'prom-client'

export type FulfilmentMetrics = ReturnType<typeof createFulfilmentMetrics>

export function createFulfilmentMetrics(registry: Registry) {
  const registers = [registry]
  const verdicts = new Counter({
    name: 'oncehook_events_applied_total',
    help: 'Payment events by outcome: applied, duplicate, superseded, already_paid, or the refusal code',
    labelNames: ['verdict'],
    registers,
  })
  const receipts = new Counter({
    name: 'oncehook_receipt_attempts_total',
    help: 'Attempts to send a receipt, by resulting state: sent, owed, parked, or put_back, which is no attempt',
    labelNames: ['state'],
    registers,
  })
  const requests = new Histogram({
    name: 'oncehook_call_seconds',
    help: 'Seconds from the start of a call to its response, by procedure and status',
    labelNames: ['procedure', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  return {
    /** By outcome or refusal code. */
    verdict: (verdict: string) => verdicts.inc({ verdict }),
    receipt: (state: string) => receipts.inc({ state }),
    request: ({ procedure, status, seconds }: { procedure: string; status: number; seconds: number }) =>
      requests.observe({ procedure, status }, seconds),
  }
}

export interface ReceiptBacklog {
  readonly unsettled: number
  readonly parked: number
  readonly oldestSeconds: number
}

export function addReceiptGauges(registry: Registry, readBacklog: () => Promise<ReceiptBacklog>): void {
  addPolledGauges(registry, readBacklog, [
    {
      name: 'oncehook_receipts_unsettled',
      help: 'Receipts owed or being sent',
      read: ({ unsettled }) => unsettled,
    },
    {
      name: 'oncehook_receipts_parked',
      help: 'Receipts parked for an operator',
      read: ({ parked }) => parked,
    },
    {
      name: 'oncehook_receipts_oldest_unsettled_seconds',
      help: 'Age of the oldest receipt owed or being sent, 0 if there is none',
      read: ({ oldestSeconds }) => oldestSeconds,
    },
  ])
}
