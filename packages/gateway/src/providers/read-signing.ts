import { readFileSync } from 'node:fs'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { parseSettingsJson, SettingsError } from '@oncehook/kernel/settings/settings'
import { readTextSource, textSource } from '@oncehook/kernel/settings/text-source'
import { isObject } from '@oncehook/webhooks/providers'
import { z } from 'zod'

/** The settings and the secret that sign a delivery as the provider does. */
export interface SigningSource {
  /** Its entry in `PROVIDERS`. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Its first valid secret. */
  readonly secret: Secret
}

/** The setting, where its secrets come from, and which provider is meant. `now` in milliseconds. */
interface SigningRead {
  readonly readText: () => string
  readonly readEnv: (name: string) => string | undefined
  readonly provider: string
  readonly now: number
}

const secretsSchema = z.array(z.object({ value: textSource, notAfter: z.string().optional() }))

/**
 * Reads `PROVIDERS` and the files behind it, so that no secret's text stays in memory. Null if there is no valid
 * secret.
 */
export function readSigning({ readText, readEnv, provider, now }: SigningRead): SigningSource | null {
  try {
    const entries = parseSettingsJson('PROVIDERS', readText())
    const settings = isObject(entries) ? entries[provider] : undefined
    if (!isObject(settings)) return null
    const secrets = secretsSchema.safeParse(settings.secrets).data ?? []
    const valid = secrets.find(({ notAfter }) => notAfter === undefined || Date.parse(notAfter) > now)
    if (valid === undefined) return null
    const text = readTextSource(valid.value, { readEnv, readFile: (path) => readFileSync(path, 'utf8') })
    return text === null ? null : { settings, secret: new Secret(text) }
  } catch (error) {
    if (error instanceof SettingsError) return null
    throw error
  }
}
