import { parseSettingsJson, SettingsError } from '@oncehook/kernel/settings/settings'
import { readTextSource, type TextSources } from '@oncehook/kernel/settings/text-source'
import {
  createProvider,
  isObject,
  type Provider,
  type ProviderSettings,
  providersSchema,
  secretTextProblem,
} from '@oncehook/webhooks/providers'
import { prepareExplanation } from './explain/explain-refusal.ts'
import { fillInTexts } from './fill-in-texts.ts'

/** Where the texts of secrets come from if the settings only refer to them, and the defaults of the settings. */
export interface ProviderSources extends TextSources {
  readonly maxBytes: number
  readonly toleranceSeconds: number
}

/** All configured providers by their name in the path. */
export type Providers = ReadonlyMap<string, Provider>

/**
 * Reads the `PROVIDERS` setting.
 * @throws SettingsError with every problem of every provider, quoting no value
 */
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
    const result = readProvider({ name, settings: provider }, sources)
    if ('problems' in result) problems.push(...result.problems)
    else providers.set(name, result)
  }
  if (problems.length > 0) throw new SettingsError(problems)
  return providers
}

/** The gateway's own time window, for providers that set none. */
function withTolerance(providers: unknown, toleranceSeconds: number): unknown {
  if (typeof providers !== 'object' || providers === null || Array.isArray(providers)) return providers
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
  return {
    entries: Object.fromEntries(filled.map(({ name, entry }) => [name, entry])),
    unreadable: filled.flatMap((one) => one.unreadable.map((place) => `PROVIDERS.${one.name}.${place}`)),
  }
}

function lower(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}

type Named = { readonly name: string; readonly settings: ProviderSettings }

function readProvider({ name, settings }: Named, sources: ProviderSources): Provider | { problems: string[] } {
  const { problems, secrets, secretTexts } = readSecrets(settings.secrets, sources)
  const maxBytes = settings.maxBytes ?? sources.maxBytes
  const source = { name, settings: { ...settings, secrets }, secretTexts, maxBytes }
  const made = createProvider(source, prepareExplanation)
  if ('problems' in made) problems.push(...made.problems)
  if ('problems' in made || problems.length > 0) {
    return { problems: problems.map((problem) => `PROVIDERS.${name}: ${problem}`) }
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
