import { z } from 'zod'
import type { ProviderSettings } from '../schemes/scheme.ts'
import { SCHEMES } from '../schemes/schemes.ts'
import type { SettingsSchema } from './settings-schema.ts'

const schemas = [...SCHEMES.values()].map(({ schema }) => schema) as unknown as [z.ZodObject<{ scheme: z.ZodLiteral }>]

/** The schema of the settings of all providers, by the name in the path. The scheme decides which settings there are. */
export const providersSchema: SettingsSchema<Record<string, ProviderSettings>> = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, { error: 'must be a name of a-z, 0-9 and -' }),
  z.discriminatedUnion('scheme', schemas, { error: listNames }) as unknown as z.ZodType<ProviderSettings>,
)

function listNames({ code }: { readonly code: string }): string | undefined {
  if (code !== 'invalid_union') return undefined
  return `Invalid discriminator value. Expected ${[...SCHEMES.keys()].map((name) => `'${name}'`).join(' | ')}`
}
