import { z } from 'zod'
import { isObject } from './read-event.ts'

const reference = z.union([z.strictObject({ file: z.string() }), z.strictObject({ env: z.string() })])

/** Where a text stands: in the settings themselves, in a file, or in a variable of the environment. */
export const textSource = z.union([z.string(), reference])

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

/** A provider's entry with the texts at hand that it points at, and the places of those that cannot be read. */
export interface FilledEntry {
  readonly entry: unknown
  readonly unreadable: readonly string[]
}

/**
 * Puts the texts in place that an entry of `PROVIDERS` points at: the token of `fetch` and the `certificates`. Everything
 * else stays as it is; secrets are read apart, since they keep their names.
 */
export function fillInTexts(entry: unknown, sources: TextSources): FilledEntry {
  const unreadable: string[] = []
  function fill(value: unknown, place: string): unknown {
    const { data } = reference.safeParse(value)
    if (data === undefined) return value
    const text = readTextSource(data, sources)
    if (text === null) unreadable.push(place)
    return text ?? value
  }
  if (!isObject(entry)) return { entry, unreadable }
  const { fetch, certificates } = entry
  const filled = {
    ...entry,
    ...(isObject(fetch) ? { fetch: { ...fetch, token: fill(fetch.token, 'fetch.token') } } : {}),
    ...(Array.isArray(certificates)
      ? { certificates: certificates.map((one: unknown, index) => fill(one, `certificates.${index}`)) }
      : {}),
  }
  return { entry: filled, unreadable }
}
