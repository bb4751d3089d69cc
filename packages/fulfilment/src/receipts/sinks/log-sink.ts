import type { LogOutput } from '@oncehook/kernel/log-output'
import type { Logger } from '@oncehook/kernel/logger'
import type { ReceiptSink } from '../receipt-sink.ts'

/**
 * Creates a sink that logs each receipt without customer data. Readers of the log detect duplicates by key. A receipt
 * counts as not sent if the output loses its line.
 */
export function createLogSink(logger: Logger, output?: Pick<LogOutput, 'dropped'>): ReceiptSink {
  return {
    keyed: true,
    atOnce: 32,
    async send({ email: _, customerId: __, ...receipt }) {
      const before = output?.dropped
      logger.info({ receipt }, 'receipt.sent')
      if (output?.dropped !== before) throw new Error('The log output dropped the line')
    },
    async close() {},
  }
}
