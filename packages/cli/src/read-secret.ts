import { readFile } from 'node:fs/promises'
import { UsageError } from './exit-code.ts'

/**
 * The value of `--secret` or `--token`, or of the file that `--…-file` names, without a line end; undefined without either.
 * @throws UsageError when both are given, or one is blank, or the file cannot be read
 */
export async function readSecret(
  name: 'secret' | 'token',
  options: Readonly<{ secret?: string; secretFile?: string; token?: string; tokenFile?: string }>,
): Promise<string | undefined> {
  const path = options[`${name}File`]
  const value = options[name]
  if (value?.trim() === '') throw new UsageError(`The value of --${name} is blank`)
  if (path === undefined) return value
  if (value !== undefined) throw new UsageError(`Give --${name} or --${name}-file, not both`)
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new UsageError(`The file of --${name}-file cannot be read`, { cause: error })
  })
  const secret = text.replace(/\r?\n$/, '')
  if (secret.trim() === '') throw new UsageError(`The file of --${name}-file is blank`)
  return secret
}
