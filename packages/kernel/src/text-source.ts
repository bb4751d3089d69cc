import { z } from 'zod'

/** A text that is in a file or in a variable of the environment. */
export const textReference = z.union([z.strictObject({ file: z.string() }), z.strictObject({ env: z.string() })])

/** Where a text stands: in the settings themselves, in a file, or in a variable of the environment. */
export const textSource = z.union([z.string(), textReference])

/** What reads the texts that the settings only point at; `readFile` throws where there is no such file. */
export interface TextSources {
  readonly readEnv: (name: string) => string | undefined
  readonly readFile: (path: string) => string
}

/** The text, without the last line end of a file; null where it cannot be read. */
export function readTextSource(source: z.output<typeof textSource>, { readEnv, readFile }: TextSources): string | null {
  if (typeof source === 'string') return source
  if ('env' in source) return readEnv(source.env) ?? null
  try {
    return readFile(source.file).replace(/\r?\n$/, '')
  } catch {
    return null
  }
}
