import { SCHEMES } from '../schemes/schemes.ts'
import { createProvidersSchema } from './providers-schema.ts'

/** The settings of all providers, of every scheme, by the name in the path. */
export const providersSettings = createProvidersSchema(SCHEMES)
