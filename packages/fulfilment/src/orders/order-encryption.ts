import type { Encryption, Place, Sealed } from '@oncehook/kernel/encryption'
import { isSealed } from '@oncehook/kernel/encryption'
import { type LiveOrder, type MetadataPair, ORDERS, type ReadableOrder } from './order-document.ts'

/** The members of an order that may be encrypted. */
export const ENCRYPTED_MEMBERS = ['email', 'note', 'metadata'] as const

type Member = (typeof ENCRYPTED_MEMBERS)[number]

/** What is encrypted of an order, in clear. */
type Personal = Pick<ReadableOrder, Member>

/** Where a member of an order is. The e-mail of its receipts is a copy of its own, and opens at the same place. */
export function memberPlace(orderId: string, member: Member): Place {
  return { collection: ORDERS, id: orderId, field: member }
}

/** Members that are to be stored in an order, with what is personal of them encrypted; as they are where encryption is off. */
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
 * A stored order with everything in clear.
 * @throws keyUnknown, recordAltered
 */
export function openOrder(order: LiveOrder, encryption: Encryption): ReadableOrder {
  const { email, note, metadata, ...others } = order
  const open = (member: Member, sealed: Sealed): string =>
    encryption.open(sealed, memberPlace(order._id, member)).toString()
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
