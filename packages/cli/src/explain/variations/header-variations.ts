import type { HeaderFamily } from '@oncehook/gateway/webhooks/providers/observe'
import type { Delivery } from '@oncehook/webhooks/providers'
import type { Variation } from '../attempt.ts'

/** A header line, its name in lower case. */
type Line = readonly [name: string, value: string]

const untouched = 'Pass the headers unchanged: check the proxy or framework in front of the gateway'

/** Possible changes of the headers of a scheme, each undone. */
export function headerVariations({ rawHeaders }: Delivery, families: readonly HeaderFamily[]): Variation[] {
  const own = new Set(families.flat())
  const lines = toLines(rawHeaders)
  const seen = new Set([JSON.stringify(lines)])
  const onValues = (change: (value: string) => string): readonly Line[] =>
    lines.map(([name, value]) => (own.has(name) ? [name, change(value)] : [name, value]))
  const tried: readonly (readonly [cause: Variation['cause'], message: string, lines: readonly Line[]])[] = [
    ['header_repeated', 'a header is repeated, and only the first line is correct', keepOne(lines, own)],
    ['header_repeated', 'a header is repeated, and only the last line is correct', keepLast(lines, own)],
    ['header_repeated', 'a repeated header was joined with a comma', onValues(splitTwice)],
    ['header_changed', 'blanks stand behind the commas or semicolons of its list', onValues(closeList)],
    ['header_changed', 'header names were rewritten with underscores', lines.map(renameUnderscores)],
    ['header_changed', 'two header families are mixed', lines.map(renameSvix)],
    ['header_changed', 'its value has whitespace or quotes around it', onValues(unquote)],
    [
      'header_changed',
      'a header value contains the header name',
      onValues((text) => text.replace(/^[A-Za-z0-9-]+: */, '')),
    ],
    ['header_changed', 'its value was changed to upper case', onValues((text) => text.toLowerCase())],
    ['header_changed', 'its plus signs became spaces', onValues((text) => text.replaceAll(' ', '+'))],
    ['header_changed', 'its value was percent-encoded', onValues(decodePercent)],
    ['header_changed', 'its base64 was changed to base64url', onValues(toPlainBase64)],
    ['header_changed', 'its base64 lost its padding', onValues(padBase64)],
    [
      'header_changed',
      'the signature has an extra prefix',
      onValues((text) => text.replace(/^(?:sha256|sha1|v[01])[=,]/, '')),
    ],
    ...['sha256=', 'v0=', 'v1,', 'v1='].map(
      (prefix) => ['header_changed', 'the signature lost its prefix', onSignature(lines, own, prefix)] as const,
    ),
  ]
  return tried.flatMap(([cause, message, changed]): Variation[] => {
    if (seen.has(JSON.stringify(changed))) return []
    seen.add(JSON.stringify(changed))
    return [
      {
        axis: 'header',
        cause,
        message: `The signature is valid, but ${message}`,
        fix: untouched,
        apply: (attempt) => ({ ...attempt, delivery: { ...attempt.delivery, rawHeaders: changed.flat() } }),
      },
    ]
  })
}

/** The header lines, with names in lower case. */
export function toLines(rawHeaders: readonly string[]): Line[] {
  return rawHeaders.flatMap((name, index): Line[] =>
    index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? '']] : [],
  )
}

function keepOne(lines: readonly Line[], own: ReadonlySet<string>): Line[] {
  return lines.filter(([name], index) => !own.has(name) || lines.findIndex(([one]) => one === name) === index)
}

function keepLast(lines: readonly Line[], own: ReadonlySet<string>): Line[] {
  return keepOne(lines.toReversed(), own).toReversed()
}

/** Two equal lines become `a, a`. Header lists of schemes use other separators or different items. */
function splitTwice(value: string): string {
  const [first = '', ...others] = value.split(', ')
  return others.length > 0 && others.every((other) => other === first) ? first : value
}

function closeList(value: string): string {
  return value.replaceAll(/([,;]) +/g, '$1')
}

function renameUnderscores([name, value]: Line): Line {
  return [name.replace(/^http_/, '').replaceAll('_', '-'), value]
}

function renameSvix([name, value]: Line): Line {
  return [name.replace(/^svix-/, 'webhook-'), value]
}

function unquote(value: string): string {
  return value.trim().replace(/^(["'])(.*)\1$/, '$2')
}

function decodePercent(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

function toPlainBase64(value: string): string {
  return padBase64(value.replaceAll('-', '+').replaceAll('_', '/'))
}

function padBase64(value: string): string {
  const [, before = '', text = ''] = /^(.*[,=])?([A-Za-z0-9+/]+)$/.exec(value) ?? []
  return text.length < 27 ? value : before + text.padEnd(Math.ceil(text.length / 4) * 4, '=')
}

function onSignature(lines: readonly Line[], own: ReadonlySet<string>, prefix: string): Line[] {
  const isSignature = (name: string): boolean => own.has(name) && /signature|hmac|sig$/.test(name)
  return lines.map(([name, value]) => [name, isSignature(name) ? prefix + value : value])
}
