import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { Secret, secretProblem } from './secret.ts'

/** Exit status for what a person must put right (sysexits.h EX_CONFIG). */
export const EXIT_CONFIG = 78

/** Why a service refuses to start: every problem in one line, no secret in any. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(problems.join('\n'), options)
    this.problems = problems
  }
}

/** What is wrong between settings that are right one by one: lines that begin with a name. It sees the texts as set. */
export type CrossCheck = (texts: Readonly<Record<string, string | undefined>>) => readonly string[]

/**
 * Reads the settings of a service from its environment; `NAME_FILE` names a file that holds the value of `NAME`.
 * The result is frozen.
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
  const parsed = schema.safeParse(values)
  for (const issue of parsed.error?.issues ?? []) {
    const name = issue.path.map(String).join('.') || 'settings'
    if (!unread.has(name)) problems.push(`${name} ${issue.message}`)
  }
  problems.push(...crossCheck(values))
  if (problems.length > 0 || !parsed.success) throw new SettingsError(problems)
  Object.freeze(parsed.data)
  return parsed.data
}

/** Gathers the problems of several readings, so that a person sees all of them at once. */
export interface ProblemCollector {
  readonly problems: readonly string[]
  /** What was read; undefined when it threw SettingsError, whose problems are kept. */
  attempt<T>(read: () => T): T | undefined
}

/** Creates a collector without problems. */
export function collectProblems(): ProblemCollector {
  const problems: string[] = []
  return {
    problems,
    attempt(read) {
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

// Fatal: a bent byte would make a weaker secret without a word.
const decoder = new TextDecoder('utf-8', { fatal: true })

const text = z.string({ error: 'is not set' })

/** A text that must be set, or has a default. */
export function textSetting(fallback?: string) {
  const checked = text.refine((value) => value.trim() !== '', { error: 'is empty' })
  return fallback === undefined ? checked : checked.default(fallback)
}

const MOST_NAME_BYTES = 63

/** The name of a database of MongoDB. */
export function databaseSetting(fallback: string) {
  return text
    .refine((value) => /^[^/\\. "$\0]+$/.test(value) && Buffer.byteLength(value) <= MOST_NAME_BYTES, {
      error: `is no name of a database: 1 to ${MOST_NAME_BYTES} bytes without / \\ . " $ and blanks`,
    })
    .default(fallback)
}

/** A secret of at least `minLength` characters that is no sample. */
export function secretSetting(minLength: number) {
  return text.transform((value, context) => {
    const problem = secretProblem(value, minLength)
    if (problem === null) return new Secret(value)
    context.addIssue({ code: 'custom', message: problem })
    return z.NEVER
  })
}

/** A whole number within bounds, written in decimal digits. */
export function integerSetting(range: { min: number; max: number; fallback: number }) {
  return z.string().default(String(range.fallback)).transform(wholeNumber(range))
}

/** As `integerSetting`, but it need not be set. */
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

/** A URL of one of the given protocols (`http:` and so on). */
export function urlSetting(protocols: readonly string[], fallback?: string) {
  const checked = text.transform((value, context) => {
    const url = URL.parse(value)
    if (url !== null && protocols.includes(url.protocol)) return url
    context.addIssue({ code: 'custom', message: `must be a URL that begins with ${protocols.join('// or ')}//` })
    return z.NEVER
  })
  return fallback === undefined ? checked : text.default(fallback).pipe(checked)
}

/** The address of a MongoDB deployment, kept secret because it may carry a password. */
export function mongoUriSetting() {
  return text.transform((value, context) => {
    if (/^mongodb(\+srv)?:\/\/./.test(value)) return new Secret(value)
    context.addIssue({ code: 'custom', message: 'must begin with mongodb:// or mongodb+srv://' })
    return z.NEVER
  })
}

/**
 * Reads the address of the MongoDB deployment again: its file may have changed since.
 * @throws SettingsError
 */
export function readMongoUri(env: NodeJS.ProcessEnv): Secret {
  return readSettings(z.object({ MONGODB_URI: mongoUriSetting() }), env).MONGODB_URI
}

/** How much is logged. */
export const logLevelSetting = z
  .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    error: 'must be one of trace, debug, info, warn, error, fatal, silent',
  })
  .default('info')

/** A TCP port that need not be set; 0 lets the system choose one. */
export function optionalPortSetting() {
  return optionalIntegerSetting({ min: 0, max: 65_535 })
}

/** A TCP port; 0 lets the system choose one. */
export function portSetting(fallback: number) {
  return integerSetting({ min: 0, max: 65_535, fallback })
}
