import type { HeaderFamily } from '@oncehook/gateway/webhooks/providers/observe'
import type { Delivery } from '@oncehook/webhooks/providers'
import type { Variation } from '../attempt.ts'

/** A header line, its name in lower case. */
type Line = readonly [name: string, value: string]

/** Possible changes of the headers of a scheme, each undone. */
export function headerVariations({ rawHeaders }: Delivery, families: readonly HeaderFamily[]): Variation[] {
  const own = new Set(families.flat())
  const lines = toLines(rawHeaders)
  const seen = new Set([JSON.stringify(lines)])
  const onValues = (change: (value: string) => string): readonly Line[] =>
    lines.map(([name, value]) => (own.has(name) ? [name, change(value)] : [name, value]))
  const tried: readonly (readonly [cause: Variation['cause'], message: string, lines: readonly Line[]])[] = [
    ['header_repeated', 'a header is repeated, and only the first line is correct', keepOne(lines, own)],
    [
      'header_repeated',
      'a header is repeated, and only the last line is correct',
      keepOne(lines.toReversed(), own).toReversed(),
    ],
    ['header_changed', 'blanks stand behind the commas of its list', onValues((text) => text.replaceAll(/, +/g, ','))],
    ['header_changed', 'header names were rewritten with underscores', lines.map(renameUnderscores)],
    ['header_changed', 'its value has whitespace or quotes around it', onValues(unquote)],
    ['header_changed', 'its value was changed to upper case', onValues((text) => text.toLowerCase())],
  ]
  return tried.flatMap(([cause, message, changed]): Variation[] => {
    if (seen.has(JSON.stringify(changed))) return []
    seen.add(JSON.stringify(changed))
    return [
      {
        cause,
        message: `The signature is valid, but ${message}`,
        fix: 'Pass the headers unchanged: check the proxy or framework in front of the gateway',
        apply: (attempt) => ({ ...attempt, delivery: { ...attempt.delivery, rawHeaders: changed.flat() } }),
      },
    ]
  })
}

export function toLines(rawHeaders: readonly string[]): Line[] {
  return rawHeaders.flatMap((name, index): Line[] =>
    index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? '']] : [],
  )
}

function keepOne(lines: readonly Line[], own: ReadonlySet<string>): Line[] {
  return lines.filter(([name], index) => !own.has(name) || lines.findIndex(([one]) => one === name) === index)
}

function renameUnderscores([name, value]: Line): Line {
  return [name.replace(/^http_/, '').replaceAll('_', '-'), value]
}

function unquote(value: string): string {
  return value.trim().replace(/^(["'])(.*)\1$/, '$2')
}
