import type { Logger } from '@oncehook/kernel/log/logger'
import { contractMismatch } from '../errors.ts'
import type { DispatchMetrics } from '../metrics.ts'
import type { Sent } from './sent.ts'

/** If fulfilment could read no event of a batch, counts this and logs it as an error. Returns the batch as it is. */
export function reportMismatch(
  batch: Sent,
  { logger, metrics }: { readonly logger: Logger; readonly metrics: Pick<DispatchMetrics, 'contractMismatch'> },
): Sent {
  const error = batch.failure?.error
  if (contractMismatch.is(error)) {
    metrics.contractMismatch()
    logger.error({ error }, 'dispatch.contract-mismatch')
  }
  return batch
}
