import { recordAltered } from '@oncehook/kernel/http/error-codes'
import { isObject } from '@oncehook/kernel/http/json'
import { writeBounded } from '@oncehook/kernel/log/bounded-lines'
import type { Logger } from '@oncehook/kernel/log/logger'
import { type Encryption, isSealed, type Place, type Sealed } from '@oncehook/kernel/secrets/encryption'
import { orderUnreadable } from '../../errors.ts'
import { type LiveOrder, type MetadataPair, ORDERS, type ReadableOrder } from './order-document.ts'

export const ENCRYPTED_MEMBERS = ['email', 'note', 'metadata'] as const

type Member = (typeof ENCRYPTED_MEMBERS)[number]

type Personal = Pick<ReadableOrder, Member>

/**
 * The location of a field, which its encryption is bound to. The e-mail of a receipt is a copy and uses the location
 * of the order's e-mail.
 */
export function memberPlace(orderId: string, member: Member): Place {
  return { collection: ORDERS, id: orderId, field: member }
}

/** Encrypts the personal fields of an order that is about to be stored. Returns them unchanged if encryption is off. */
export function sealMembers<Members extends Personal>(
  orderId: string,
  members: Members,
  encryption: Encryption,
): Omit<Members, Member> & Pick<LiveOrder, Member> {
  const { email, note, metadata, ...others } = members
  const seal = (member: Member, text: string): Sealed | null =>
    encryption.seal(Buffer.from(text), memberPlace(orderId, member))
  return {
    ...others,
    ...(email === undefined ? {} : { email: seal('email', email) ?? email }),
    ...(note === undefined ? {} : { note: seal('note', note) ?? note }),
    ...(metadata === undefined ? {} : { metadata: seal('metadata', JSON.stringify(metadata)) ?? metadata }),
  }
}

/** @throws keyUnknown, orderUnreadable if a property was altered */
export function openOrder(order: LiveOrder, encryption: Encryption): ReadableOrder {
  const { email, note, metadata, ...others } = order
  const open = (member: Member, sealed: Sealed): string => {
    try {
      return encryption.open(sealed, memberPlace(order._id, member)).toString()
    } catch (error) {
      if (recordAltered.is(error)) throw orderUnreadable({ orderId: order._id, member }, { cause: error })
      throw error
    }
  }
  const pairs: readonly MetadataPair[] | undefined = isSealed(metadata)
    ? JSON.parse(open('metadata', metadata))
    : metadata
  return {
    ...others,
    ...(email === undefined ? {} : { email: isSealed(email) ? open('email', email) : email }),
    ...(note === undefined ? {} : { note: isSealed(note) ? open('note', note) : note }),
    ...(pairs === undefined ? {} : { metadata: pairs }),
  }
}

/** Logs a damaged order. It may be read often: of such lines, those beyond 100 in a second share one. */
export function reportUnreadable(logger: Logger, details: { readonly orderId: string }): void {
  const write = (line: object): void => logger.error(line, 'order.unreadable')
  writeBounded(logger, 'order.unreadable', {}, { one: () => write(details), many: write })
}

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

/** @throws orderUnreadable */
export function demandReadable(stored: LiveOrder): void {
  if (!isReadable(stored)) throw orderUnreadable({ orderId: stored._id })
}

function isInstant(stored: unknown): boolean {
  return stored instanceof Date && !Number.isNaN(stored.getTime())
}

function isOptionalText(stored: unknown): boolean {
  return stored === undefined || typeof stored === 'string' || isSealed(stored)
}

function isListOfObjects(stored: unknown): boolean {
  return Array.isArray(stored) && stored.every(isObject)
}
