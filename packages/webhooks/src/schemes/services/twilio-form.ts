/** The names and values of a form, in the order sent. */
export type TwilioForm = readonly (readonly [name: string, value: string])[]

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
// The decoded fields are signed, so only one encoding of them is accepted.
const WRITTEN_OTHERWISE = /\s|%(?![0-9A-F]{2})/

// A whole form is read before its signature can be checked. Forms of Twilio have a few dozen fields and a few kilobytes.
const MOST_BYTES = 65_536
const MOST_FIELDS = 200
const AMPERSAND = 0x26

/** Whether a body is larger than any form of Twilio. Such a form is not read. */
export function isTooLargeForm(rawBody: Buffer): boolean {
  if (rawBody.length > MOST_BYTES) return true
  let fields = 1
  // Jumps from one to the next: checking each byte takes sixty times as long, and every forged form is checked.
  for (let at = rawBody.indexOf(AMPERSAND); at !== -1; at = rawBody.indexOf(AMPERSAND, at + 1)) {
    fields += 1
    if (fields > MOST_FIELDS) return true
  }
  return false
}

/** The fields of a form (application/x-www-form-urlencoded) that may repeat names; null if the body is not such a form. */
export function readTwilioForm(rawBody: Buffer): TwilioForm | null {
  if (isTooLargeForm(rawBody)) return null
  try {
    const text = decoder.decode(rawBody)
    if (text === '') return []
    if (WRITTEN_OTHERWISE.test(text)) return null
    return text.split('&').map((pair) => {
      const equals = pair.indexOf('=')
      if (equals === -1) return [decode(pair), '']
      return [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))]
    })
  } catch {
    return null
  }
}

function decode(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  return spaced.includes('%') ? decodeURIComponent(spaced) : spaced
}

/** The text of a form that Twilio signs: names and values, sorted by code units. A repeated pair counts once. */
export function textOfForm(form: TwilioForm): string {
  const byName = new Map<string, Set<string>>()
  for (const [name, value] of form) byName.set(name, (byName.get(name) ?? new Set<string>()).add(value))
  const names = [...byName.keys()].sort()
  return names
    .map((name) =>
      [...(byName.get(name) ?? [])]
        .sort()
        .map((value) => `${name}${value}`)
        .join(''),
    )
    .join('')
}
