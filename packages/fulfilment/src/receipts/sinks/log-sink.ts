import type { LogOutput } from '@oncehook/kernel/log-output'
import type { Logger } from '@oncehook/kernel/logger'
import type { ReceiptSink } from '../receipt-sink.ts'

/**
 * Creates a sink that writes a line of the log for each receipt, without what names the customer; who reads the log tells
 * repetitions by the key. A receipt whose line the output loses counts as not sent.
 */
export function createLogSink(logger: Logger, output?: Pick<LogOutput, 'dropped'>): ReceiptSink {
  return {
    keyed: true,
    atOnce: 32,
    async send({ email: _, customerId: __, ...receipt }) {
      const before = output?.dropped
      logger.info({ receipt }, 'receipt.sent')
      if (output?.dropped !== before) throw new Error('The log takes no more lines')
    },
    async close() {},
  }
}
