import { createProvidersSchema } from './providers-schema.ts'
import { SCHEMES } from './schemes.ts'

/** All providers, of whatever scheme: the name in the path -> settings. */
export const providersSettings = createProvidersSchema(SCHEMES)
