import { createHash } from 'node:crypto'
import { parseEntityTagList } from '@oncehook/kernel/http/preconditions'
import { z } from 'zod'
import { PAYMENT_EVENT_TYPES } from './transitions.ts'

const MAX_BYTES = 255
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/

/** A text in an event: well-formed, 1 to 255 bytes, not only whitespace, no control characters. */
const eventTextSchema = z
  .string()
  .min(1)
  .max(MAX_BYTES)
  .refine((text) => text.isWellFormed() && Buffer.byteLength(text) <= MAX_BYTES, {
    error: `is not well-formed Unicode of at most ${MAX_BYTES} bytes`,
  })
  .refine((text) => text.trim() !== '' && !CONTROL.test(text), { error: 'is blank or has control characters' })

/** A precondition in the syntax of the If-Match header (RFC 9110 section 13.1.1). */
const ifMatchSchema = z
  .string()
  .max(4_096)
  .refine(isEntityTagList, { error: 'must be * or a list of entity tags in double quotes' })

/**
 * A payment event for an order, as sent by the gateway. The amount and currency come from the provider: they are
 * compared with the order, never stored. Unknown properties are dropped, because a newer gateway may send more.
 */
export const paymentEventSchema = z.object({
  provider: eventTextSchema,
  eventId: eventTextSchema,
  type: z.enum(PAYMENT_EVENT_TYPES),
  paymentId: eventTextSchema,
  orderId: eventTextSchema,
  amount: z.number().optional(),
  currency: z.string().max(MAX_BYTES).optional(),
  occurredAt: z.iso.datetime({ offset: true }).optional(),
  ifMatch: ifMatchSchema.optional(),
})

export type PaymentEvent = z.output<typeof paymentEventSchema>

/** The properties that must not change when the same event id is delivered again. */
export function eventHash(event: PaymentEvent): string {
  const said = [event.type, event.paymentId, event.orderId, event.amount ?? null, event.currency ?? null]
  return createHash('sha256').update(JSON.stringify(said)).digest('base64url')
}

function isEntityTagList(text: string): boolean {
  try {
    parseEntityTagList(text)
    return true
  } catch {
    return false
  }
}
