import { z } from 'zod'

export const textReference = z.union([z.strictObject({ file: z.string() }), z.strictObject({ env: z.string() })])

/** Where a text is stored: in the settings, in a file or in an environment variable. */
export const textSource = z.union([z.string(), textReference])

/** Reads the texts that settings refer to. `readFile` throws if the file does not exist. */
export interface TextSources {
  readonly readEnv: (name: string) => string | undefined
  readonly readFile: (path: string) => string
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
