import type { Handler } from './payment-command.ts'
import { toPaymentCommand } from './payment-command.ts'

/** A payment failed: its order is to say so, unless it is paid already. */
export const onPaymentFailed: Handler = (claim) => toPaymentCommand(claim, 'payment.failed')
