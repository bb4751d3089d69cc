import { hash } from 'node:crypto'
import { invalidRequest } from '@oncehook/kernel/http/error-codes'
import { CURRENCIES } from '@oncehook/kernel/money/currencies'
import { sayIssue } from '@oncehook/kernel/rpc/trpc-errors'
import { z } from 'zod'

/**
 * The id of an order, chosen by a client (PUT) or generated. `.` and `..` are excluded because they are path segments
 * (RFC 3986).
 */
export const ORDER_ID = /^(?!\.{1,2}$)[A-Za-z0-9._~-]{1,128}$/

export const orderIdSchema = z.string().regex(ORDER_ID, { error: 'is not the id of an order' })

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'
const ID_LENGTH = 26

/**
 * The id of the order that a call creates: `ord_` and 26 base32 characters (130 bits). Each call has a unique id, so a call that
 * somebody captured and sends again makes no second order.
 */
export function orderIdOf(callId: string): string {
  const bytes = hash('sha256', callId, 'buffer').subarray(0, ID_LENGTH)
  return `ord_${Array.from(bytes, (byte) => ALPHABET[byte & 31]).join('')}`
}

/** Well-formed Unicode text, with its length counted in UTF-8 bytes. */
function bytesText(max: number) {
  return z
    .string()
    .min(1)
    .max(max)
    .refine((text) => text.isWellFormed(), { error: 'is not well-formed Unicode', abort: true })
    .refine((text) => Buffer.byteLength(text) <= max, { error: `is longer than ${max} bytes` })
}

/** Well-formed Unicode text, with its length counted in characters, as in JSON Schema. */
function charactersText(min: number, max: number) {
  return z
    .string()
    .refine((text) => text.isWellFormed(), { error: 'is not well-formed Unicode', abort: true })
    .refine((text) => text.length >= min && (text.length <= max || [...text].length <= max), {
      error: `must have ${min} to ${max} characters`,
    })
    .meta({ minLength: min, maxLength: max })
}

const itemSchema = z.strictObject({
  sku: bytesText(255).meta({ description: 'What is sold: 1 to 255 bytes of UTF-8' }),
  quantity: z.int().min(1),
  unitAmount: z.int().min(0).meta({ description: 'The unit price, in minor units' }),
})

const MAX_METADATA = 50

const metadataSchema = z
  .record(charactersText(1, 40).meta({ not: { const: '__proto__' } }), charactersText(0, 500))
  .refine((members) => Object.keys(members).length <= MAX_METADATA, {
    error: `has more than ${MAX_METADATA} properties`,
  })
  .meta({ maxProperties: MAX_METADATA, description: 'Free-form names and values' })

/**
 * The properties of an order that a caller may write. Amounts are integers in minor units. The descriptions appear in
 * the OpenAPI document and cover what JSON Schema cannot express.
 */
export const orderContentSchema = z.strictObject({
  customerId: bytesText(255).meta({
    description: 'The customer: 1 to 255 bytes of UTF-8 without control characters or line breaks',
  }),
  currency: z
    .enum(CURRENCIES, { error: 'is not an ISO 4217 code' })
    .meta({ description: 'ISO 4217; amounts are integers in its minor unit' }),
  items: z
    .array(itemSchema)
    .min(1)
    .max(1_000)
    .meta({ description: 'The total, the sum of quantity × unitAmount, is at most 2^53 - 1' }),
  email: z.email().max(254).meta({ description: 'The recipient of the receipt' }).exactOptional(),
  note: charactersText(0, 10_000).exactOptional(),
  metadata: metadataSchema.exactOptional(),
})

/** The properties of an order that a caller may write. */
export type OrderContent = z.output<typeof orderContentSchema>

/** Payment status of an order: `pending < payment_failed < paid`. */
export const orderStatusSchema = z.enum(['pending', 'payment_failed', 'paid'])

/** The properties that only the server sets, in the order of the representation. Times are ISO 8601, UTC. */
const serverShape = {
  id: orderIdSchema,
  version: z.int().min(1),
  status: orderStatusSchema,
  amountDue: z.int().min(0),
  access: z.enum(['locked', 'unlocked']),
  payment: z
    .strictObject({
      id: z.string().min(1).max(255),
      provider: z.string().min(1).max(255),
      status: z.enum(['succeeded', 'failed']),
      at: z.iso.datetime(),
    })
    .nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
}

/** The representation of an order: the properties from the caller and those from the server. */
export const orderSchema = orderContentSchema.extend(serverShape)

export const SERVER_MEMBERS = Object.keys(serverShape)

export type Order = z.output<typeof orderSchema>
export type OrderStatus = Order['status']
export type OrderPayment = NonNullable<Order['payment']>

// Checked on writes only: whatever is stored can be read.
const orderInputSchema = orderContentSchema.extend({
  ...Object.fromEntries(SERVER_MEMBERS.map((name) => [name, z.unknown().optional()])),
  customerId: orderContentSchema.shape.customerId.refine((text) => !hasLineText(text), {
    error: 'has a control character or a line break',
  }),
})

/**
 * Parses an order sent by a caller. Properties that only the server sets are ignored, so that a response can be sent
 * back.
 * @throws invalidRequest that names the first invalid property, never a value
 */
export function parseOrderContent(input: unknown): OrderContent {
  const problem = problemOf(input)
  if (problem !== null) throw invalidRequest({ member: problem }, { message: `The order is not valid: ${problem}` })
  const { customerId, currency, items, email, note, metadata } = input as OrderContent
  const content: OrderContent = {
    customerId,
    currency,
    items: items.map(({ sku, quantity, unitAmount }) => ({ sku, quantity, unitAmount: unitAmount + 0 })), // -0 is 0
    ...(email === undefined ? {} : { email }),
    ...(note === undefined ? {} : { note }),
    ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
  }
  amountDueOf(content.items)
  return content
}

function problemOf(input: unknown): string | null {
  const parsed = orderInputSchema.safeParse(input)
  if (!parsed.success) return sayIssue(parsed.error)
  // A record silently drops this name, because assigning it would change the prototype.
  const metadata = parsed.data.metadata === undefined ? undefined : (input as { metadata: object }).metadata
  return metadata !== undefined && Object.hasOwn(metadata, '__proto__')
    ? 'metadata: has a property that is not allowed'
    : null
}

/**
 * The exact total of these items in minor units.
 * @throws invalidRequest above 2^53 - 1, which JSON parsers do not represent exactly (RFC 7493 section 2.2)
 */
export function amountDueOf(items: OrderContent['items']): number {
  const total = items.reduce((sum, item) => sum + BigInt(item.quantity) * BigInt(item.unitAmount), 0n)
  if (total > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw invalidRequest({}, { message: 'The order is not valid: items: the total exceeds 2^53 - 1' })
  }
  return Number(total)
}

// Control characters (C0, DEL, C1), and line and paragraph separators.
const LINE_TEXT = /[\p{Cc}\p{Zl}\p{Zp}]+/gu

function hasLineText(text: string): boolean {
  return text.search(LINE_TEXT) !== -1
}

/** Converts a text to one line by replacing such characters with spaces. */
export function toOneLine(text: string): string {
  return text.replaceAll(LINE_TEXT, ' ')
}
