import { textSource } from '@oncehook/kernel/settings/text-source'
import { z } from 'zod'
import { PAYMENT_EVENT_TYPES, type PaymentEventType } from '../event.ts'
import type { Conditions } from '../events/conditions.ts'
import { isEventText } from '../events/event-text.ts'
import type { Mapping, Meaning } from '../events/mapping.ts'
import { alternativesSchema, conditionsSchema, pointerSchema } from './conditions-schema.ts'

const secretSettings = z.strictObject({
  id: z.string().min(1).max(64),
  value: textSource,
  notAfter: z.iso.datetime({ offset: true }).optional(),
})

const eventType = z.string().refine(isEventText, { error: 'must be the name of a type, 1 to 255 bytes' })
const meaning = z.union([eventType, z.strictObject({ is: eventType, where: alternativesSchema })], {
  error: 'must be the name of a type, 1 to 255 bytes, or { "is": <its name>, "where": <conditions> }',
})
const mapping = z
  .strictObject({
    id: pointerSchema.optional(),
    idOf: z.array(pointerSchema).min(1).max(20).readonly().optional(),
    type: pointerSchema.optional(),
    object: pointerSchema.optional(),
    order: pointerSchema.optional(),
    amount: pointerSchema.optional(),
    amountIn: z.enum(['minor', 'decimal']).optional(),
    currency: pointerSchema.optional(),
    time: pointerSchema.optional(),
  })
  .refine(({ id, idOf }) => id === undefined || idOf === undefined, { error: 'id and idOf exclude each other' })
  .readonly()

/**
 * The name of a header (RFC 9110 section 5.1), in lower case as everything here compares it.
 * @internal
 */
export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, { error: 'must be a header name' })
  .transform((name) => name.toLowerCase())

/**
 * The webhook URL, exactly as the provider knows it: some schemes sign it.
 * @internal
 */
export const publicUrl = z.url({ protocol: /^https?$/, error: 'must be the public URL, with http or https' }).max(2_048)

/** The largest body that a record can hold: a MongoDB document has at most 16 MiB, and ours has other fields too. */
export const MAX_RECORD_BYTES = 16_000_000

/** How far a timestamp may differ from now, in seconds, unless the settings of the provider or the gateway say otherwise. */
const DEFAULT_TOLERANCE_SECONDS = 300

/** @internal */
export const commonShape = {
  secrets: z.array(secretSettings).min(1).max(3),
  toleranceSeconds: z.number().int().min(1).max(86_400).default(DEFAULT_TOLERANCE_SECONDS),
  maxBytes: z.number().int().min(1).max(MAX_RECORD_BYTES).optional(),
  acceptShortSecret: z.boolean().optional(),
  events: z.record(z.string(), meaning).optional(),
  read: mapping.optional(),
  sample: z.union([z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
  effects: z.array(z.enum(PAYMENT_EVENT_TYPES)).max(PAYMENT_EVENT_TYPES.length).readonly().optional(),
  requireAmount: z.boolean().optional(),
  expect: conditionsSchema.optional(),
}

/** @internal */
export const noSecrets = z.array(secretSettings).max(0, { error: 'must be omitted: nothing is signed' }).default([])

/** The settings that every provider has. */
export interface CommonSettings {
  /** Each value is the secret, or says which file or environment variable has it. */
  readonly secrets: readonly {
    readonly id: string
    readonly value: string | { readonly file: string } | { readonly env: string }
    /** ISO 8601. */
    readonly notAfter?: string | undefined
  }[]
  readonly toleranceSeconds: number
  readonly maxBytes?: number | undefined
  readonly acceptShortSecret?: boolean | undefined
  readonly events?: Readonly<Record<string, Meaning>> | undefined
  readonly read?: Mapping | undefined
  /** A body as the provider sends it, as JSON or its text, on which the settings are tried at start. */
  readonly sample?: string | object | undefined
  readonly effects?: readonly PaymentEventType[] | undefined
  readonly requireAmount?: boolean | undefined
  readonly expect?: Conditions | undefined
}
