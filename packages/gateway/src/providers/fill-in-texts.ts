import { readTextSource, type TextSources, textReference } from '@oncehook/kernel/settings/text-source'
import { isObject } from '@oncehook/webhooks/providers'

/** A provider's entry with the texts that it refers to, and the places of texts that cannot be read. */
export interface FilledEntry {
  readonly entry: unknown
  readonly unreadable: readonly string[]
}

/**
 * Puts the texts in place that an entry of `PROVIDERS` points at: the token of `fetch`, the `certificates` and the `sample`. Everything
 * else stays as it is; secrets are read apart, since they keep their names.
 */
export function fillInTexts(entry: unknown, sources: TextSources): FilledEntry {
  const unreadable: string[] = []
  function fill(value: unknown, place: string): unknown {
    const { data } = textReference.safeParse(value)
    if (data === undefined) return value
    const text = readTextSource(data, sources)
    if (text === null) unreadable.push(place)
    return text ?? value
  }
  if (!isObject(entry)) return { entry, unreadable }
  const { fetch, certificates, sample } = entry
  const filled = {
    ...entry,
    ...(isObject(fetch) ? { fetch: { ...fetch, token: fill(fetch.token, 'fetch.token') } } : {}),
    ...(Array.isArray(certificates)
      ? { certificates: certificates.map((one: unknown, index) => fill(one, `certificates.${index}`)) }
      : {}),
    ...(sample === undefined ? {} : { sample: fill(sample, 'sample') }),
  }
  return { entry: filled, unreadable }
}
