import { z } from 'zod'
import { registerSecret } from '../secrets/secret-register.ts'

export const textReference = z.union([z.strictObject({ file: z.string() }), z.strictObject({ env: z.string() })])

/** Where a text is stored: in the settings, in a file or in an environment variable. */
export const textSource = z.union([z.string(), textReference])

/** Reads the texts that settings refer to. `readFile` throws if the file does not exist. */
export interface TextSources {
  readonly readEnv: (name: string) => string | undefined
  readonly readFile: (path: string) => string
  /** Called with each text that is a secret, and its place in the settings. Default: nobody asks. */
  readonly onSecret?: (place: string, text: string) => void
}

/** The texts that the settings of a service refer to. Their secrets are registered. */
export function textsOf(env: NodeJS.ProcessEnv, readFile: TextSources['readFile'], isToken = false): TextSources {
  return {
    readEnv: (name) => env[name],
    readFile,
    onSecret: (place, text) => registerSecret(env, { place, text, isToken }),
  }
}

/** The text, without the final line break of a file. Null if it cannot be read. */
export function readTextSource(source: z.output<typeof textSource>, { readEnv, readFile }: TextSources): string | null {
  if (typeof source === 'string') return source
  if ('env' in source) return readEnv(source.env) ?? null
  try {
    return readFile(source.file).replace(/\r?\n$/, '')
  } catch {
    return null
  }
}
