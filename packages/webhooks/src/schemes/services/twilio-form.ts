/** The names and values of a form, in the order sent. */
export type TwilioForm = readonly (readonly [name: string, value: string])[]

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
// What is signed are the decoded fields: only one way to write them is taken.
const WRITTEN_OTHERWISE = /\s|%(?![0-9A-F]{2})/

// All of a form is read before its signature can be checked. Twilio's have some dozens of fields, a few kilobytes together.
const MOST_BYTES = 65_536
const MOST_FIELDS = 200
const AMPERSAND = 0x26

/** Whether a body is larger than any form of Twilio's: such a form is not read. */
export function isTooLargeForm(rawBody: Buffer): boolean {
  if (rawBody.length > MOST_BYTES) return true
  let fields = 1
  // From one to the next: to look at each byte takes sixty times as long, and every forged form is looked at.
  for (let at = rawBody.indexOf(AMPERSAND); at !== -1; at = rawBody.indexOf(AMPERSAND, at + 1)) {
    fields += 1
    if (fields > MOST_FIELDS) return true
  }
  return false
}

/** The fields of a form (application/x-www-form-urlencoded) that may repeat names; null for what is no such form. */
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

/** What Twilio signs of a form: names and values, sorted by code units; a repeated pair counts once. */
export function textOfForm(form: TwilioForm): string {
  const byName = Map.groupBy(form, ([name]) => name)
  const names = [...byName.keys()].sort()
  return names
    .map((name) => {
      const values = new Set((byName.get(name) ?? []).map(([, value]) => value))
      return [...values]
        .sort()
        .map((value) => `${name}${value}`)
        .join('')
    })
    .join('')
}
