import { z } from 'zod'
import type { Schemes } from '../schemes/load-schemes.ts'
import type { ProviderSettings } from '../schemes/scheme.ts'
import { SCHEME_FILES } from '../schemes/scheme-files.ts'
import type { SettingsSchema } from './settings-schema.ts'

/**
 * Makes the schema of the settings of all providers, by the name in the path. The scheme decides which settings there are.
 * `schemes` are the schemes that can be used; a message about another name lists all schemes, loaded or not.
 */
export function createProvidersSchema(schemes: Schemes): SettingsSchema<Record<string, ProviderSettings>> {
  const schemas = [...schemes.values()].map(({ schema }) => schema) as unknown as [
    z.ZodObject<{ scheme: z.ZodLiteral }>,
  ]
  return z.record(
    z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, { error: 'must be a name of a-z, 0-9 and -' }),
    z.discriminatedUnion('scheme', schemas, { error: listNames }) as unknown as z.ZodType<ProviderSettings>,
  )
}

function listNames({ code }: { readonly code: string }): string | undefined {
  if (code !== 'invalid_union') return undefined
  return `Invalid discriminator value. Expected ${[...SCHEME_FILES.keys()].map((name) => `'${name}'`).join(' | ')}`
}
