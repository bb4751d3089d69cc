import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isWeakSecret } from '@oncehook/kernel/secrets/secret'
import { nameAsSet, readSetting } from '@oncehook/kernel/settings/settings'
import { readTextSource, textSource } from '@oncehook/kernel/settings/text-source'
import { z } from 'zod'

/** A weakness of secrets that are each valid. It names their places, but no value. */
export interface SecretWarning {
  /** The name of the log line: one text in several places, or a text that does not look random. */
  readonly event: 'secret.shared' | 'secret.weak'
  readonly places: readonly string[]
}

interface Found {
  readonly place: string
  readonly text: string
}

/**
 * Finds secrets that are used in two places, so that one leak exposes both, and tokens that can be guessed. It ignores
 * settings that it cannot read: the services reject those at their start.
 */
export function findSecretWarnings(env: NodeJS.ProcessEnv): SecretWarning[] {
  const tokens = TOKEN_SETTINGS.flatMap((name) => tokensOf(name, readJson(name, env), env))
  const all = [...tokens, ...providerSecretsOf(readJson('PROVIDERS', env), env)]
  // Public keys may be used anywhere.
  const secrets = all.filter(({ text }) => !/^whpk_|PUBLIC KEY-----/.test(text))
  const byText = Map.groupBy(secrets, ({ text }) => hash('sha256', text.replace(/^whsec_/, '')))
  const shared = [...byText.values()].filter((places) => places.length > 1)
  const weak = tokens.filter(({ text }) => isWeakSecret(text))
  const placesOf = (found: readonly Found[]): string[] => found.map(({ place }) => nameAsSet(place, env))
  return [
    ...shared.map((found): SecretWarning => ({ event: 'secret.shared', places: placesOf(found) })),
    ...weak.map((found): SecretWarning => ({ event: 'secret.weak', places: placesOf([found]) })),
  ]
}

const TOKEN_SETTINGS = ['API_TOKENS', 'OPERATOR_TOKENS'] as const

function tokensOf(setting: string, holders: unknown, env: NodeJS.ProcessEnv): Found[] {
  const lists = z.record(z.string(), z.unknown()).safeParse(holders).data ?? {}
  return Object.entries(lists).flatMap(([name, held]) => {
    const tokens = z.object({ tokens: z.array(z.object({ value: textSource })) }).safeParse(held).data?.tokens
    const sources: unknown[] = tokens === undefined ? [held] : tokens.map(({ value }) => value)
    return sources.flatMap((source) => textsOf(`${setting}.${name}`, source, env))
  })
}

const providerShape = z.object({
  secrets: z.array(z.object({ id: z.string(), value: z.unknown() })).optional(),
  fetch: z.object({ token: z.unknown() }).optional(),
})

function providerSecretsOf(providers: unknown, env: NodeJS.ProcessEnv): Found[] {
  const entries = Object.entries(z.record(z.string(), z.unknown()).safeParse(providers).data ?? {})
  return entries.flatMap(([name, entry]) => {
    const { secrets = [], fetch } = providerShape.safeParse(entry).data ?? {}
    return [
      ...secrets.flatMap(({ id, value }) => textsOf(`PROVIDERS.${name}.secrets.${id}`, value, env)),
      ...textsOf(`PROVIDERS.${name}.fetch.token`, fetch?.token, env),
    ]
  })
}

function textsOf(place: string, source: unknown, env: NodeJS.ProcessEnv): Found[] {
  const { data } = textSource.safeParse(source)
  if (data === undefined) return []
  const text = readTextSource(data, { readEnv: (name) => env[name], readFile: (path) => readFileSync(path, 'utf8') })
  return text === null ? [] : [{ place, text }]
}

function readJson(name: string, env: NodeJS.ProcessEnv): unknown {
  try {
    return JSON.parse(readText(name, env) ?? '{}')
  } catch {
    return {}
  }
}

function readText(name: string, env: NodeJS.ProcessEnv): string | undefined {
  return readSetting(name, z.string().optional(), env)
}
