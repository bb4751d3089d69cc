import type { Encryption, Place, Sealed } from '@oncehook/kernel/encryption'
import { isSealed } from '@oncehook/kernel/encryption'
import { recordAltered } from '@oncehook/kernel/error-codes'
import { orderUnreadable } from '../../errors.ts'
import { type LiveOrder, type MetadataPair, ORDERS, type ReadableOrder } from './order-document.ts'

/** The fields of an order that may be encrypted. */
export const ENCRYPTED_MEMBERS = ['email', 'note', 'metadata'] as const

type Member = (typeof ENCRYPTED_MEMBERS)[number]

/** The encrypted fields of an order, decrypted. */
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

/**
 * Decrypts a stored order.
 * @throws keyUnknown, orderUnreadable if a property was altered
 */
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
