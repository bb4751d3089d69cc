import { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJson } from '../http/json.ts'
import { parseStrictJson } from '../http/strict-json.ts'
import { Secret, secretProblem } from '../secrets/secret.ts'
import { registerSecret } from '../secrets/secret-register.ts'

/** Exit status for errors that an operator must fix (EX_CONFIG in sysexits.h). */
export const EXIT_CONFIG = 78
/** EX_TEMPFAIL of sysexits.h: another start may succeed. */
export const EXIT_RESTART = 75

/** The reasons why a service does not start: one line per problem, without secrets. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options)
    this.problems = problems
  }
}

// Compiling a schema takes longer than one use of it.
const ONCE = { jitless: true } as const

/**
 * Checks combinations of settings that are valid one by one. Returns lines that start with a setting name. Receives
 * the raw texts.
 */
export type CrossCheck = (texts: Readonly<Record<string, string | undefined>>) => readonly string[]

/**
 * Reads the settings of a service from its environment. `NAME_FILE` names a file that contains the value of `NAME`.
 * The result is frozen. Own code around zod, because `envalid` knows no `NAME_FILE`.
 * @throws SettingsError with all problems at once
 */
export function readSettings<Schema extends z.ZodObject>(
  schema: Schema,
  env: NodeJS.ProcessEnv,
  crossCheck: CrossCheck = () => [],
): z.output<Schema> {
  const values: Record<string, string> = {}
  const problems: string[] = []
  const unread = new Set<string>()
  for (const name of Object.keys(schema.shape)) {
    const { value, problem } = readOne(name, env)
    if (value !== undefined) values[name] = value
    if (problem === undefined) continue
    problems.push(problem)
    unread.add(name)
  }
  const parsed = schema.safeParse(values, ONCE)
  for (const issue of parsed.error?.issues ?? []) {
    const name = issue.path.map(String).join('.') || 'settings'
    if (!unread.has(name)) problems.push(`${name} ${issue.message}`)
  }
  problems.push(...crossCheck(values))
  if (problems.length > 0 || !parsed.success) throw new SettingsError(problems)
  Object.freeze(parsed.data)
  registerAll(parsed.data, env)
  return parsed.data
}

function registerAll(settings: object, env: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(settings)) registerSecrets(name, value, env)
}

/** Registers what the parser of a setting took for a secret: a text that does not print, or keys. */
function registerSecrets(place: string, value: unknown, env: NodeJS.ProcessEnv): void {
  if (value instanceof Secret) registerSecret(env, { place, text: value.reveal() })
  if (value instanceof KeyObject && value.type === 'secret') {
    registerSecret(env, { place, text: value.export().toString('base64') })
  }
  if (Array.isArray(value)) for (const [at, one] of value.entries()) registerSecrets(`${place}.${at + 1}`, one, env)
}

/** @throws SettingsError */
export function readSetting<Output>(
  name: string,
  schema: z.ZodType<Output, string | undefined>,
  env: NodeJS.ProcessEnv,
): Output {
  const { value, problem } = readOne(name, env)
  if (problem !== undefined) throw new SettingsError([problem])
  const parsed = schema.safeParse(value, ONCE)
  if (!parsed.success) throw new SettingsError(parsed.error.issues.map(({ message }) => `${name} ${message}`))
  registerSecrets(name, parsed.data, env)
  return parsed.data
}

/** Collects the problems of several reads, so that an operator sees all of them at once. */
export function collectProblems() {
  const problems: string[] = []
  return {
    problems: problems as readonly string[],
    /** Returns the result of a read. If it throws SettingsError, keeps its problems and returns undefined. */
    attempt<T>(read: () => T): T | undefined {
      try {
        return read()
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error
        problems.push(...error.problems)
        return undefined
      }
    },
  }
}

function readOne(name: string, env: NodeJS.ProcessEnv): { value?: string; problem?: string } {
  const direct = env[name]
  const file = env[`${name}_FILE`]
  if (file === undefined || file === '') return direct === undefined ? {} : { value: direct }
  if (direct !== undefined && direct !== '') return { problem: `${name} is set twice: as ${name} and by ${name}_FILE` }
  try {
    return { value: decoder.decode(readFileSync(file)).replace(/\r?\n$/, '') }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return { problem: `${name}_FILE is not UTF-8 text` }
    return { problem: `${name}_FILE cannot be read (${code ?? 'unknown'})` }
  }
}

// Fatal decoding: silently replacing invalid bytes would weaken a secret.
const decoder = new TextDecoder('utf-8', { fatal: true })

const text = z.string({ error: 'is not set' })

/** A string setting. Required unless it has a default. */
export function textSetting(fallback?: string) {
  const checked = text.refine((value) => value.trim() !== '', { error: 'is empty' })
  return fallback === undefined ? checked : checked.default(fallback)
}

const MOST_NAME_BYTES = 63

export function databaseSetting(fallback: string) {
  return text
    .refine((value) => /^[^/\\. "$\0]+$/.test(value) && Buffer.byteLength(value) <= MOST_NAME_BYTES, {
      error: `is not the name of a database: 1 to ${MOST_NAME_BYTES} bytes without / \\ . " $ and spaces`,
    })
    .default(fallback)
}

/** A secret of at least `minLength` characters that is not a sample. */
export function secretSetting(minLength: number) {
  return text.transform((value, context) => {
    const problem = secretProblem(value, minLength)
    if (problem === null) return new Secret(value)
    context.addIssue({ code: 'custom', message: problem })
    return z.NEVER
  })
}

/** An integer within limits, in decimal digits. */
export function integerSetting(range: { min: number; max: number; fallback: number }) {
  return z.string().default(String(range.fallback)).transform(wholeNumber(range))
}

export function optionalIntegerSetting(range: { min: number; max: number }) {
  return z.string().transform(wholeNumber(range)).optional()
}

function wholeNumber({ min, max }: { min: number; max: number }) {
  return (value: string, context: z.RefinementCtx<string>): number => {
    const number = /^\d{1,15}$/.test(value.trim()) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    context.addIssue({ code: 'custom', message: `must be a whole number from ${min} to ${max}` })
    return z.NEVER
  }
}

/** A URL with one of the given protocols (such as `http:`). */
export function urlSetting(protocols: readonly string[], fallback?: string) {
  const checked = text.transform((value, context) => {
    const url = URL.parse(value)
    if (url !== null && protocols.includes(url.protocol)) return url
    context.addIssue({ code: 'custom', message: `must be a URL that begins with ${protocols.join('// or ')}//` })
    return z.NEVER
  })
  return fallback === undefined ? checked : text.default(fallback).pipe(checked)
}

/** The URL of a MongoDB deployment. Kept secret, because it may contain a password. */
export function mongoUriSetting() {
  return text.transform((value, context) => {
    if (/^mongodb(\+srv)?:\/\/./.test(value)) return new Secret(value)
    context.addIssue({ code: 'custom', message: 'must begin with mongodb:// or mongodb+srv://' })
    return z.NEVER
  })
}

/** Names of hosts, separated by commas. */
export function namesSetting() {
  return z
    .string()
    .default('')
    .transform((text, context): ReadonlySet<string> => {
      const names = text.split(',').map((part) => part.trim().toLowerCase())
      const wrong = names.some((name) => name !== '' && URL.parse(`http://${name}`)?.hostname !== name)
      if (wrong)
        context.addIssue({ code: 'custom', message: 'must be names of hosts without ports, like hooks.example' })
      return new Set(names.filter((name) => name !== ''))
    })
}

export const logLevelSetting = z
  .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    error: 'must be one of trace, debug, info, warn, error, fatal, silent',
  })
  .default('info')

/** An optional TCP port. 0 selects a free one. */
export function optionalPortSetting() {
  return optionalIntegerSetting({ min: 0, max: 65_535 })
}

/** A TCP port. 0 selects a free one. */
export function portSetting(fallback: number) {
  return integerSetting({ min: 0, max: 65_535, fallback })
}

/**
 * Parses a JSON setting. Duplicate keys are rejected, because it is unclear which value was intended.
 * @throws SettingsError that names the setting without quoting its value
 */
export function parseSettingsJson(setting: string, text: string): unknown {
  let value: unknown
  try {
    value = parseStrictJson(Buffer.from(text))
  } catch {
    throw new SettingsError([`${setting} ${parseJson(text) === undefined ? 'is not valid JSON' : 'has a name twice'}`])
  }
  // Libraries ignore a property with this name.
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
    throw new SettingsError([`${setting} has a property __proto__, which is not allowed`])
  }
  return value
}
