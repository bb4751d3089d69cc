import { InvalidArgumentError } from 'commander'

/** Parses an integer from `min` to `max`. Commander reports any other text as wrong usage. */
export function readWhole(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(
      max === Number.MAX_SAFE_INTEGER
        ? `Must be an integer of at least ${min}.`
        : `Must be an integer from ${min} to ${max}.`,
    )
  }
}

/** Parses a number greater than 0, such as `0.5`. */
export function readPositive(text: string): number {
  const value = /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : 0
  if (value > 0) return value
  throw new InvalidArgumentError('Must be a number greater than 0.')
}

/** Parses `a,b,c`. Whitespace around items is ignored; empty items are errors. */
export function readList(text: string): string[] {
  const members = text.split(',').map((member) => member.trim())
  if (members.every((member) => member !== '')) return members
  throw new InvalidArgumentError('Must be a list such as `failed,succeeded`.')
}

/** Parses the base URL of a gateway, with an optional path before `/api`. */
export function readUrl(text: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && !url.search && !url.hash) return url.href.replace(/\/+$/, '')
  throw new InvalidArgumentError('Must be a URL such as http://127.0.0.1:8080.')
}

/** Parses `name=value` and adds it to the previous ones. */
export function collectSetting(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([A-Za-z]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Must be `name=value`.')
  return { ...before, [name]: value }
}
