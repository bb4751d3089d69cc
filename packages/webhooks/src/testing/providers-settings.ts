import type { ProviderSettings } from '../schemes/scheme.ts'
import { SCHEMES } from '../schemes/schemes.ts'
import { createProvidersSchema } from '../settings/providers-schema.ts'

const schema = createProvidersSchema(SCHEMES)

/** The settings of providers of any scheme, by their names. Throws if they are invalid. */
export function parseProvidersSettings(entries: unknown): Readonly<Record<string, ProviderSettings>> {
  const { data, error } = schema.safeParse(entries)
  if (data === undefined)
    throw new Error(error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; '))
  return data
}
