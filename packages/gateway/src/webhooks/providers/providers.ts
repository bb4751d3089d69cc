import { readFileSync } from 'node:fs'
import type { Logger } from '@oncehook/kernel/log/logger'
import { Secret } from '@oncehook/kernel/secrets/secret'
import {
  createFileSource,
  type FileSource,
  type WatchedSource,
  watchSource,
} from '@oncehook/kernel/settings/file-source'
import { parseSettingsJson, SettingsError } from '@oncehook/kernel/settings/settings'
import {
  readTextSource,
  type TextSources,
  textReference,
  textSource,
  textsOf,
} from '@oncehook/kernel/settings/text-source'
import {
  createProvider,
  isObject,
  type Provider,
  type ProviderSettings,
  providersSchema,
  secretTextProblem,
} from '@oncehook/webhooks/providers'
import { z } from 'zod'
import { prepareExplanation } from './explain-refusal.ts'

/** Where the texts of secrets come from if the settings only refer to them, and the defaults of the settings. */
export interface ProviderSources extends TextSources {
  readonly maxBytes: number
  readonly toleranceSeconds: number
}

/** All configured providers by their name in the path. */
export type Providers = ReadonlyMap<string, Provider>

/** @throws SettingsError with every problem of every provider, quoting no value */
export function readProviders(json: string, sources: ProviderSources): Providers {
  const settings = withTolerance(parseSettingsJson('PROVIDERS', json), sources.toleranceSeconds)
  const { entries, unreadable } = withTexts(settings, sources)
  const parsed = providersSchema.safeParse(entries)
  if (!parsed.success || unreadable.length > 0) {
    const issues = parsed.error?.issues ?? []
    const wrong = issues
      .map(({ path, message }) => ({ place: ['PROVIDERS', ...path.map(String)].join('.'), message }))
      .filter(({ place }) => !unreadable.includes(place))
    throw new SettingsError([
      ...unreadable.map((place) => `${place} cannot be read`),
      ...wrong.map(({ place, message }) => `${place} ${lower(message)}`),
    ])
  }
  const problems: string[] = []
  const providers = new Map<string, Provider>()
  for (const [name, provider] of Object.entries(parsed.data)) {
    const result = readProvider(name, provider, sources)
    if ('problems' in result) problems.push(...result.problems)
    else providers.set(name, result)
  }
  if (problems.length > 0) throw new SettingsError(problems)
  return providers
}

/** The gateway's own time window, for providers that set none. */
function withTolerance(providers: unknown, toleranceSeconds: number): unknown {
  if (!isObject(providers)) return providers
  return Object.fromEntries(
    Object.entries(providers).map(([name, settings]: [string, unknown]) =>
      typeof settings === 'object' ? [name, { toleranceSeconds, ...settings }] : [name, settings],
    ),
  )
}

/** The entries with the texts that they refer to, and the places of texts that cannot be read. */
function withTexts(providers: unknown, sources: TextSources): { entries: unknown; unreadable: readonly string[] } {
  if (!isObject(providers)) return { entries: providers, unreadable: [] }
  const filled = Object.entries(providers).map(([name, settings]) => ({ name, ...fillInTexts(settings, sources) }))
  for (const { name, entry } of filled) {
    for (const [place, text] of secretTextsOf(entry)) sources.onSecret?.(`PROVIDERS.${name}.${place}`, text)
  }
  return {
    entries: Object.fromEntries(filled.map(({ name, entry }) => [name, entry])),
    unreadable: filled.flatMap((one) => one.unreadable.map((place) => `PROVIDERS.${one.name}.${place}`)),
  }
}

/** The texts beside `secrets` that only the provider may know, by their place. */
function secretTextsOf(entry: unknown): [place: string, text: string][] {
  if (!isObject(entry)) return []
  const token = isObject(entry.fetch) ? entry.fetch.token : undefined
  const found: [string, unknown][] = [
    ['fetch.token', token],
    ['verifyToken', entry.verifyToken],
  ]
  return found.filter((one): one is [string, string] => typeof one[1] === 'string')
}

function lower(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}

function readProvider(
  name: string,
  settings: ProviderSettings,
  sources: ProviderSources,
): Provider | { problems: string[] } {
  const { problems, secrets, secretTexts } = readSecrets(settings.secrets, sources)
  const maxBytes = settings.maxBytes ?? sources.maxBytes
  const source = { name, settings: { ...settings, secrets }, secretTexts, maxBytes }
  const made = createProvider(source, prepareExplanation)
  if ('problems' in made) problems.push(...made.problems)
  if ('problems' in made || problems.length > 0) {
    return { problems: problems.map((problem) => `PROVIDERS.${name}: ${problem}`) }
  }
  for (const [at, { id, isPublic }] of made.secrets.entries()) {
    if (isPublic !== true) sources.onSecret?.(`PROVIDERS.${name}.secrets.${id}`, secretTexts[at] ?? '')
  }
  return made
}

type SecretSettings = ProviderSettings['secrets'][number]

/** The secrets whose texts can be used, their texts, and the problems of the others. */
function readSecrets(given: readonly SecretSettings[], sources: TextSources) {
  const problems: string[] = []
  const ids = new Set<string>()
  const secrets: SecretSettings[] = []
  const secretTexts: string[] = []
  for (const secret of given) {
    const { id, value } = secret
    if (ids.has(id)) problems.push(`secret ${id} is named twice`)
    ids.add(id)
    const text = readTextSource(value, sources)
    const problem = text === null ? 'cannot be read' : secretTextProblem(text)
    if (problem !== null) problems.push(`secret ${id} ${problem}`)
    else if (text !== null) {
      secrets.push(secret)
      secretTexts.push(text)
    }
  }
  return { problems, secrets, secretTexts }
}

/**
 * Puts the texts in place that an entry of `PROVIDERS` points at: the token of `fetch`, the `certificates` and the `sample`. Everything
 * else stays as it is; secrets are read apart, since they keep their names.
 */
export function fillInTexts(entry: unknown, sources: TextSources) {
  const unreadable: string[] = []
  function fill(value: unknown, place: string): unknown {
    const { data } = textReference.safeParse(value)
    if (data === undefined) return value
    const text = readTextSource(data, sources)
    if (text === null) unreadable.push(place)
    return text ?? value
  }
  if (!isObject(entry)) return { entry, unreadable }
  const { fetch, certificates, sample } = entry
  const filled = {
    ...entry,
    ...(isObject(fetch) ? { fetch: { ...fetch, token: fill(fetch.token, 'fetch.token') } } : {}),
    ...(Array.isArray(certificates)
      ? { certificates: certificates.map((one: unknown, index) => fill(one, `certificates.${index}`)) }
      : {}),
    ...(sample === undefined ? {} : { sample: fill(sample, 'sample') }),
  }
  return { entry: filled, unreadable }
}

/** The settings and the secret that sign a delivery as the provider does. */
export interface SigningSource {
  /** Its entry in `PROVIDERS`. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Its first valid secret. */
  readonly secret: Secret
}

const secretsSchema = z.array(z.object({ value: textSource, notAfter: z.string().optional() }))

/**
 * Reads `PROVIDERS` and the files behind it, so that no secret's text stays in memory. Null if there is no valid
 * secret.
 */
function readSigning(
  json: string,
  readEnv: TextSources['readEnv'],
  provider: string,
  now: number,
): SigningSource | null {
  try {
    const entries = parseSettingsJson('PROVIDERS', json)
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

/** The source of the providers: read at the start, and again whenever one of its files has changed. */
export interface ProvidersSource extends FileSource<Providers> {
  /** Reads again what signs for a provider at `now` (milliseconds). Null if it cannot be read, or no secret is valid. */
  readSigning(provider: string, now: number): SigningSource | null
}

/** Creates the source of the `PROVIDERS` setting: its file, and the files of secrets that it names. */
export function createProvidersSource(
  env: NodeJS.ProcessEnv,
  options: {
    readText: () => string
    maxBytes: number
    toleranceSeconds: number
  },
): ProvidersSource {
  const { readText, maxBytes, toleranceSeconds } = options
  const source = createFileSource(
    (readFile) => readProviders(readText(), { ...textsOf(env, readFile), maxBytes, toleranceSeconds }),
    { env, names: ['PROVIDERS'] },
  )
  return {
    ...source,
    readSigning: (provider, now) => readSigning(readText(), (name) => env[name], provider, now),
  }
}

/**
 * Reads the providers and follows their files.
 * @throws SettingsError when the first content is wrong
 */
export function watchProviders(source: FileSource<Providers>, logger: Logger): WatchedSource<Providers> {
  const watched = watchSource(source, {
    onChanged(providers) {
      logger.info({ providers: [...providers.keys()] }, 'providers.changed')
      warnOfSettings(providers, logger)
    },
    onRefused: (problems) => logger.error({ problems }, 'providers.refused'),
  })
  warnOfSettings(watched.current(), logger)
  return watched
}

function warnOfSettings(providers: Providers, logger: Logger): void {
  for (const { name: provider, scheme, unsaidOrigin: properties, unsureAmounts: types } of providers.values()) {
    // One signing key may serve several accounts, or test and live mode: then only the signed document distinguishes them.
    if (properties.length > 0) {
      const example = properties.map((pointer) => `"${pointer}": …`).join(', ')
      const add = `"expect": { ${example} } with your values, or "expect": {} if any value counts`
      logger.warn({ provider, scheme, properties, add }, 'provider.origin-unchecked')
    }
    // A success without an amount has no effect where one is required: a type that the preset does not know may have none.
    if (types.length > 0) {
      const add = '"requireAmount": true if these types always name an amount, or "requireAmount": false'
      logger.warn({ provider, scheme, types, add }, 'provider.amount-required')
    }
  }
}
