import { isSealed } from '@oncehook/kernel/encryption'
import { orderUnreadable } from '../../errors.ts'
import type { LiveOrder } from './order-document.ts'

/** Whether a stored order has every field that its representation needs. Imported documents may lack some. */
export function isReadable(stored: LiveOrder): boolean {
  const { version, items, payment, email, note, metadata, createdAt, updatedAt } = stored
  return (
    Number.isSafeInteger(version) &&
    isListOfObjects(items) &&
    isOptionalText(email) &&
    isOptionalText(note) &&
    (metadata === undefined || isSealed(metadata) || isListOfObjects(metadata)) &&
    (payment === null || (isObject(payment) && isInstant(payment.at))) &&
    isInstant(createdAt) &&
    isInstant(updatedAt)
  )
}

/**
 * Checks that an order is readable.
 * @throws orderUnreadable
 */
export function demandReadable(stored: LiveOrder): void {
  if (!isReadable(stored)) throw orderUnreadable({ orderId: stored._id })
}

function isInstant(stored: unknown): boolean {
  return stored instanceof Date && !Number.isNaN(stored.getTime())
}

function isOptionalText(stored: unknown): boolean {
  return stored === undefined || typeof stored === 'string' || isSealed(stored)
}

function isObject(stored: unknown): boolean {
  return typeof stored === 'object' && stored !== null
}

function isListOfObjects(stored: unknown): boolean {
  return Array.isArray(stored) && stored.every(isObject)
}
