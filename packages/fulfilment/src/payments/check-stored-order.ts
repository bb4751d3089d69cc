import { isSealed } from '@oncehook/kernel/encryption'
import type { OrderDocument } from '../orders/stored/order-document.ts'

type Check = readonly [property: string, isRight: (value: unknown) => boolean]

const STATUSES: ReadonlySet<unknown> = new Set(['pending', 'payment_failed', 'paid', 'deleted'])
// More than any caller may write. Bounds what one order adds to a command.
const MAX_TEXT = 1_024

const OF_ALL: readonly Check[] = [
  ['version', (value) => Number.isSafeInteger(value)],
  ['status', (value) => STATUSES.has(value)],
  ['applied', Array.isArray],
  ['paidBy', (value) => value === undefined || Array.isArray(value)],
]

const OF_LIVE: readonly Check[] = [
  ['amountDue', (value) => Number.isSafeInteger(value)],
  ['currency', isText],
  ['customerId', isText],
  ['email', (value) => value === undefined || isText(value) || isSealed(value)],
  ['payment', isPayment],
]

/**
 * Checks the properties of a stored order that decisions depend on. A person may have written them.
 * @throws TypeError that names the first invalid property, never its value
 */
export function checkStoredOrder(order: OrderDocument): void {
  const checks = order.status === 'deleted' ? OF_ALL : [...OF_ALL, ...OF_LIVE]
  const stored = order as unknown as Readonly<Record<string, unknown>>
  const wrong = checks.find(([property, isRight]) => !isRight(stored[property]))
  if (wrong !== undefined) throw new TypeError(`The stored order has no valid ${wrong[0]}`)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_TEXT
}

function isPayment(value: unknown): boolean {
  if (value === null) return true
  return typeof value === 'object' && (value as { at?: unknown }).at instanceof Date
}
