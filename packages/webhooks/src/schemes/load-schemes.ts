import type { Scheme } from './scheme.ts'
import { SCHEME_FILES } from './scheme-files.ts'

/** Loaded schemes by their names in the settings. */
export type Schemes = ReadonlyMap<string, Scheme>

/** The names of all schemes, loaded or not. */
export const SCHEME_NAMES: readonly string[] = [...SCHEME_FILES.keys()]

/** Loads the schemes with these names. Unknown names are ignored. */
export async function loadSchemes(names: Iterable<string>): Promise<Schemes> {
  const loading = Array.from(new Set(names), async (name) => [name, await SCHEME_FILES.get(name)?.()] as const)
  const loaded = await Promise.all(loading)
  return new Map(loaded.flatMap(([name, scheme]) => (scheme === undefined ? [] : [[name, scheme] as const])))
}
