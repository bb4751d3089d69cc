import { SCHEMES } from '../schemes/schemes.ts'
import { createProvidersSchema } from './providers-schema.ts'

/** All providers, of whatever scheme: the name in the path -> settings. */
export const providersSettings = createProvidersSchema(SCHEMES)
