import type { Logger } from '@oncehook/kernel/logger'
import type { ReceiptSink } from '../receipt-sink.ts'

/** Creates a sink that writes a line of the log for each receipt; who reads the log tells repetitions by the key. */
export function createLogSink(logger: Logger): ReceiptSink {
  return {
    keyed: true,
    atOnce: 32,
    async send({ email: _, ...receipt }) {
      logger.info({ receipt }, 'receipt.sent')
    },
    async close() {},
  }
}
