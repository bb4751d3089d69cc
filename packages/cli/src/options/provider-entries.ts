import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { readTextSource, type TextSources, textSource } from '@oncehook/kernel/settings/text-source'
import { z } from 'zod'
import { UsageError } from '../command.ts'
import type { LocalSystem } from './gateway-address.ts'
import { readGivenFile } from './option-values.ts'

/** The entries of a `PROVIDERS` setting, and where they and their texts come from. */
export interface ProviderEntries {
  readonly entries: Readonly<Record<string, unknown>>
  readonly place: string
  readonly sources: TextSources
  /** Where secrets are that are not in the entries themselves. */
  readonly placesOf: (secrets: readonly Pick<SecretEntry, 'value'>[]) => readonly string[]
}

type ReadEnv = TextSources['readEnv']

/**
 * The provider settings for a command: those of the file in its options, then of PROVIDERS_FILE or PROVIDERS in this shell, then
 * of the local system. Without any of them: why there are none, as a clause.
 * @throws UsageError or CommandFailure if they cannot be read
 */
export async function findProviderEntries(
  file: string | undefined,
  readEnv: ReadEnv,
  findLocal: () => Promise<LocalSystem | null>,
): Promise<ProviderEntries | string> {
  const own = { sources: textSources(readEnv), placesOf: toPlaces(() => undefined) }
  if (file !== undefined) return { ...own, entries: await readEntries(file), place: `--providers-file ${file}` }
  const path = readEnv('PROVIDERS_FILE')
  if (path) return { ...own, entries: await readEntries(path), place: `PROVIDERS_FILE of this shell, ${path}` }
  const text = readEnv('PROVIDERS')
  if (text) return { ...own, entries: parseEntries(text, 'PROVIDERS'), place: 'PROVIDERS of this shell' }
  const local = await findLocal()
  if (local === null) return 'no local system is running'
  if (local.providersFile === null) return 'the local system has its own PROVIDERS, so set PROVIDERS in this shell, too'
  return ofLocalSystem(local, local.providersFile, readEnv)
}

async function ofLocalSystem(local: LocalSystem, file: string, readEnv: ReadEnv): Promise<ProviderEntries> {
  const { developmentSecrets, secretsFile } = local
  const isDevelopment = (name: string): boolean => readEnv(name) === undefined && developmentSecrets.has(name)
  return {
    entries: await readEntries(file),
    place: `the local system, ${file}`,
    sources: textSources((name) => readEnv(name) ?? developmentSecrets.get(name)),
    placesOf: toPlaces((name) => (isDevelopment(name) ? secretsFile : undefined)),
  }
}

function toPlaces(fileOf: (variable: string) => string | undefined): ProviderEntries['placesOf'] {
  return (secrets) => {
    const places = secrets.flatMap(({ value }) => {
      if (typeof value === 'string') return []
      return 'file' in value ? resolve(value.file) : (fileOf(value.env) ?? `the variable ${value.env}`)
    })
    return [...new Set(places)]
  }
}

const secretSchema = z.object({ id: z.string(), value: textSource, notAfter: z.string().optional() })
const entrySchema = z.looseObject({ scheme: z.string(), secrets: z.array(secretSchema) })

type SecretEntry = z.infer<typeof secretSchema>

/** The settings of a provider, as far as signing needs them. */
export type ProviderEntry = z.infer<typeof entrySchema>

/** @throws UsageError if it is not an entry of a provider */
export function entryOf({ entries, place }: ProviderEntries, name: string): ProviderEntry | undefined {
  if (!Object.hasOwn(entries, name)) return undefined
  const { data } = entrySchema.safeParse(entries[name])
  if (data === undefined) throw new UsageError(`The settings of ${name} need a scheme and secrets: see ${place}`)
  return data
}

/** @throws UsageError if it cannot be read */
export function readSecretText(
  provider: string,
  { id, value }: Pick<SecretEntry, 'id' | 'value'>,
  sources: TextSources,
): string {
  if (typeof value === 'string') return value
  const text = readTextSource(value, sources)
  if (text !== null) return text
  const where = 'file' in value ? `the file ${value.file}` : `the variable ${value.env} is not set`
  throw new UsageError(`The secret ${id} of ${provider} cannot be read: ${where}`)
}

/** Reads texts from these variables, and from files. */
export function textSources(readEnv: ReadEnv): TextSources {
  return { readEnv, readFile: (path) => readFileSync(path, 'utf8') }
}

async function readEntries(path: string): Promise<Readonly<Record<string, unknown>>> {
  return parseEntries((await readGivenFile(path)).toString(), path)
}

function parseEntries(text: string, where: string): Readonly<Record<string, unknown>> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(text))
  } catch {
    // The parser's message quotes the text, which contains secrets.
    throw new UsageError(`${where} is not a JSON object of providers`)
  }
}
