import { createProvidersSchema, loadSchemes, SCHEME_NAMES, type Schemes } from '@oncehook/webhooks/providers'

/** All schemes by their names in the settings. */
export const SCHEMES: Schemes = await loadSchemes(SCHEME_NAMES)

/** Reads the settings of providers of any scheme, by the name in the path. */
export const providersSettings = createProvidersSchema(SCHEMES)
