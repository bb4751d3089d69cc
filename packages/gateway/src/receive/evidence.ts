import { singleHeader } from '../providers/delivery.ts'

const ALWAYS = ['content-type', 'user-agent']
const MAX_LENGTH = 2_048

/**
 * The headers that are kept with an event: those that its signature can be checked against again, and two that help to
 * understand it. An allow-list, because providers have sent secrets in headers of their own.
 */
export function evidenceOf(rawHeaders: readonly string[], signedHeaders: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of [...signedHeaders, ...ALWAYS]) {
    const value = singleHeader(rawHeaders, name)
    if (value !== null && value.length <= MAX_LENGTH) kept[name] = value
  }
  return kept
}
