import type { Scheme } from './scheme.ts'
import { SCHEME_FILES } from './scheme-files.ts'

/** Schemes that are loaded, by their names in the settings. */
export type Schemes = ReadonlyMap<string, Scheme>

/** Loads the schemes of these names; names that no scheme has are passed over. */
export async function loadSchemes(names: Iterable<string>): Promise<Schemes> {
  const loading = Array.from(new Set(names), async (name) => [name, await SCHEME_FILES.get(name)?.()] as const)
  const loaded = await Promise.all(loading)
  return new Map(loaded.flatMap(([name, scheme]) => (scheme === undefined ? [] : [[name, scheme] as const])))
}
