import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import { signers } from '@oncehook/webhooks/signing/signers'
import { UsageError } from '../exit-code.ts'

/** The settings for a new secret. */
export interface MadeSecret {
  /** An entry of `PROVIDERS`. A symmetric secret appears only as the name of its file. */
  readonly providers: object
  /** The `--set` options that signing with this secret needs. */
  readonly settings: Readonly<Record<string, unknown>>
}

/**
 * Generates a secret for a scheme and writes the signing half to a new file that only its owner can read.
 * @throws UsageError if the scheme has no secret, or if the file exists or cannot be written
 */
export async function makeSecret(scheme: string, file: string, now: number): Promise<MadeSecret> {
  const signer = signers.get(scheme)
  const { signWith, value, gatewaySettings, signerSettings = {} } = await makeDevelopmentSecret(scheme, now)
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
