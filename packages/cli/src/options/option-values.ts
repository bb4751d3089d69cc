// How values of options are parsed. Secrets and tokens come from files and variables, never from arguments, which the list of
// processes shows.

import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { UsageError } from '../command.ts'

/** Parses an integer from `min` to `max`. Commander reports any other text as wrong usage. */
export function readWhole(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(
      max === Number.MAX_SAFE_INTEGER
        ? `Must be an integer of at least ${min}.`
        : `Must be an integer from ${min} to ${max}.`,
    )
  }
}

/** Parses a number greater than 0, such as `0.5`. */
export function readPositive(text: string): number {
  const value = /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : 0
  if (value > 0) return value
  throw new InvalidArgumentError('Must be a number greater than 0.')
}

/** Parses the base URL of a gateway, with an optional path before `/api`. */
export function readUrl(text: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && !url.search && !url.hash) return url.href.replace(/\/+$/, '')
  throw new InvalidArgumentError('Must be a URL such as http://127.0.0.1:8080.')
}

/** Parses `name=value` and adds it to the previous ones. */
export function collectSetting(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([A-Za-z]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Must be `name=value`.')
  return { ...before, [name]: value }
}

/** @throws UsageError if the file cannot be read */
export async function readGivenFile(path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => {
    throw new UsageError(`The file ${path} cannot be read`, { cause: error })
  })
}

export type SecretOptions = Readonly<
  Partial<Record<'secret' | 'secretFile' | 'secretEnv' | 'token' | 'tokenFile' | 'tokenEnv', string | undefined>>
>

/** Adds `--secret-file` and `--secret-env`, or `--token-file` and `--token-env`. */
export function addSecretOptions(command: Command, name: 'secret' | 'token', what: string): Command {
  return (
    command
      .option(`--${name}-file <path>`, `file with ${what}`)
      .option(`--${name}-env <name>`, `environment variable with ${what}`)
      // Defined only to be refused: commander prints unknown options with their values.
      .addOption(new Option(`--${name} <value>`).hideHelp())
  )
}

/**
 * Reads the secret or token from the file or the variable in the options, without a final newline. Undefined if neither is given.
 * @throws UsageError if the secret is an argument, is given twice, is empty or cannot be read
 */
export async function readSecret(
  name: 'secret' | 'token',
  options: SecretOptions,
  readEnv: (name: string) => string | undefined,
): Promise<string | undefined> {
  const [path, variable] = [options[`${name}File`], options[`${name}Env`]]
  if (options[name] !== undefined) {
    throw new UsageError(`Do not pass a ${name} as an argument: use --${name}-file or --${name}-env`)
  }
  if (path !== undefined && variable !== undefined) {
    throw new UsageError(`Give --${name}-file or --${name}-env, not both`)
  }
  if (variable !== undefined) {
    const value = readEnv(variable)
    if (value === undefined || value.trim() === '')
      throw new UsageError(`The environment variable given by --${name}-env is not set`)
    return value
  }
  if (path === undefined) return undefined
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new UsageError(`The file given by --${name}-file cannot be read`, { cause: error })
  })
  const secret = text.replace(/\r?\n$/, '')
  if (secret.trim() === '') throw new UsageError(`The file given by --${name}-file is empty`)
  return secret
}

/** Where the secret in the options is. Empty if there is none. */
export function placeOfSecret({ secretFile, secretEnv }: Pick<SecretOptions, 'secretFile' | 'secretEnv'>): string[] {
  if (secretFile !== undefined) return [`--secret-file ${secretFile}`]
  return secretEnv === undefined ? [] : [`--secret-env ${secretEnv}`]
}
