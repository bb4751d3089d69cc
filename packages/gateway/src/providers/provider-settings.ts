import { z } from 'zod'
import type { ProviderSettings, Scheme } from './scheme.ts'
import { SCHEMES } from './schemes.ts'

const schemas = [...SCHEMES.values()].map(({ schema }) => schema) as unknown as [z.ZodObject<{ scheme: z.ZodLiteral }>]

/** The settings of one provider: the scheme's name decides what else they may say. */
const providerSettings = z.discriminatedUnion('scheme', schemas) as unknown as Scheme['schema']

/** All providers: the name in the path -> settings. */
export const providersSettings: z.ZodType<Record<string, ProviderSettings>> = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, { error: 'must be a name of a-z, 0-9 and -' }),
  providerSettings,
)
