import type { Handler } from './payment-command.ts'
import { toPaymentCommand } from './payment-command.ts'

/** A payment went through: its order is to be paid, opened and receipted. */
export const onPaymentSucceeded: Handler = (claim) => toPaymentCommand(claim, 'payment.succeeded')
