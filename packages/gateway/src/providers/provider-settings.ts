import { z } from 'zod'
import { isEventText } from './read-event.ts'

const secretSettings = z.strictObject({
  id: z.string().min(1).max(64),
  value: z.union([z.string(), z.strictObject({ file: z.string() }), z.strictObject({ env: z.string() })]),
  notAfter: z.iso.datetime({ offset: true }).optional(),
})

const pointer = z.string().regex(/^(?:\/(?:[^~/]|~[01])*)+$/, { error: 'must be a JSON Pointer (RFC 6901)' })
const eventType = z.string().refine(isEventText, { error: 'must be the name of a type, 1 to 255 bytes' })
const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, { error: 'must be a header name' })

/** The largest body that a record can hold: a document of MongoDB ends at 16 MiB, and ours has more members. */
export const MAX_RECORD_BYTES = 16_000_000

/** What every provider's settings may say, whatever the scheme. */
const shared = {
  secrets: z.array(secretSettings).min(1).max(3),
  toleranceSeconds: z.number().int().min(1).max(86_400).optional(),
  maxBytes: z.number().int().min(1).max(MAX_RECORD_BYTES).optional(),
  acceptShortSecret: z.boolean().optional(),
  events: z.record(z.string(), eventType).optional(),
  orderReference: pointer.optional(),
}

/** The settings of one provider, as INTERFACE section 4 of the documentation names them. */
export const providerSettings = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('standard-webhooks'), shape: z.literal('standard').optional(), ...shared }),
  z.strictObject({ scheme: z.literal('stripe'), ...shared }),
  z.strictObject({
    scheme: z.literal('hmac'),
    header: headerName,
    algorithm: z.enum(['sha1', 'sha256', 'sha384', 'sha512']).default('sha256'),
    encoding: z.enum(['hex', 'base64']).default('hex'),
    prefix: z.string().max(64).default(''),
    timestampHeader: headerName.optional(),
    signedText: z
      .string()
      .regex(/^(?:[^{}]|\{timestamp\})*\{body\}(?:[^{}]|\{timestamp\})*$/, {
        error: 'must hold {body} once, may hold {timestamp}, and no other braces',
      })
      .optional(),
    secretEncoding: z.enum(['utf8', 'hex', 'base64']).default('utf8'),
    ...shared,
  }),
])

/** The settings of one provider, checked. */
export type ProviderSettings = z.output<typeof providerSettings>

/** The settings of one scheme. */
export type SettingsOf<Scheme extends ProviderSettings['scheme']> = Extract<ProviderSettings, { scheme: Scheme }>

/** All providers: the name in the path -> settings. */
export const providersSettings = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, { error: 'must be a name of a-z, 0-9 and -' }),
  providerSettings,
)
