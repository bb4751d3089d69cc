import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import { signers } from '@oncehook/simulator/signers/signers'
import { UsageError } from './exit-code.ts'

/** A file with a new secret, and what belongs to it. */
export interface MadeSecret {
  /** An entry of `PROVIDERS`; a secret that has no public half stands in it as the file's name only. */
  readonly providers: object
  /** What `--set` has to say when it is signed with. */
  readonly settings: Readonly<Record<string, unknown>>
}

/**
 * Makes a secret for a scheme and writes what is signed with into a new file that only its owner can read.
 * @throws UsageError when the scheme has none, or the file is there already or cannot be written
 */
export async function makeSecret(scheme: string, file: string, now: number): Promise<MadeSecret> {
  const signer = signers.get(scheme)
  const { signWith, value, gatewaySettings, signerSettings = {} } = makeDevelopmentSecret(scheme, now)
  if (signer === undefined || value === null) throw new UsageError(`The scheme ${scheme} uses no secret`)
  const path = resolve(file)
  await writeFile(path, `${signWith.trimEnd()}\n`, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    throw new UsageError(`The file ${path} cannot be written: it must not exist yet`, { cause: error })
  })
  const shown = value === signWith ? { file: path } : value
  const secrets = [{ id: 'development', value: shown }]
  return {
    providers: { [scheme]: { scheme, ...signer.mapping, ...gatewaySettings, secrets } },
    settings: signerSettings,
  }
}
