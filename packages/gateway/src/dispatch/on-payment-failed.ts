import type { Handler } from './payment-command.ts'
import { toPaymentCommand } from './payment-command.ts'

/** A payment failed: the order gets this status, unless it is already paid. */
export const onPaymentFailed: Handler = (claim) => toPaymentCommand(claim, 'payment.failed')
