import { loadSchemes } from './load-schemes.ts'
import { SCHEME_FILES } from './scheme-files.ts'

/** Every way to sign that is known, by its name in the settings, for those who need all of them at once. */
export const SCHEMES = await loadSchemes(SCHEME_FILES.keys())
