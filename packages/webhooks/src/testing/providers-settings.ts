import type { ProviderSettings } from '../schemes/scheme.ts'
import { providersSchema } from '../settings/providers-schema.ts'

/** The settings of providers of any scheme, by their names. Throws if they are invalid. */
export function parseProvidersSettings(entries: unknown): Readonly<Record<string, ProviderSettings>> {
  const { data, error } = providersSchema.safeParse(entries)
  if (data === undefined)
    throw new Error(error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; '))
  return data
}
