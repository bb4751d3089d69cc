import type { Handler } from './payment-command.ts'
import { toPaymentCommand } from './payment-command.ts'

/** A payment succeeded: the order becomes paid, with access and a receipt. */
export const onPaymentSucceeded: Handler = (claim) => toPaymentCommand(claim, 'payment.succeeded')
