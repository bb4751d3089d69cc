import { z } from 'zod'
import type { Attempt, Variation } from '../attempt.ts'
import { toLines } from './header-variations.ts'

const algorithms = ['sha256', 'sha1', 'sha512', 'sha384']
const encodings = ['hex', 'base64']
const timedTexts = ['{timestamp}.{body}', '{timestamp}{body}', '{timestamp}:{body}', 'v0:{timestamp}:{body}']

const hmacSettings = z.object({
  header: z.string(),
  algorithm: z.string(),
  encoding: z.string(),
  prefix: z.string(),
  timestampHeader: z.string().optional(),
  signedText: z.string().optional(),
})

type HmacSettings = z.output<typeof hmacSettings>

/** Other possible settings of the generic `hmac` scheme, derived from the received headers. */
export function settingsVariations({ settings, delivery }: Attempt): Variation[] {
  if (settings.scheme !== 'hmac') return []
  const own = hmacSettings.parse(settings)
  const lines = toLines(delivery.rawHeaders)
  const value = lines.find(([name]) => name === own.header)?.[1] ?? ''
  const prefixes = [...new Set([own.prefix, /^[A-Za-z0-9]{1,12}[=,:]/.exec(value)?.[0] ?? '', ''])]
  return prefixes.flatMap((prefix) =>
    textsOf(own, lines).flatMap((text) =>
      algorithms.flatMap((algorithm) =>
        encodings.flatMap((encoding) => toVariations(own, { prefix, ...text, algorithm, encoding })),
      ),
    ),
  )
}

/** The configured text, the body alone, and each usual text with each header that has a time. */
function textsOf(
  { timestampHeader, signedText }: HmacSettings,
  lines: ReturnType<typeof toLines>,
): Pick<HmacSettings, 'timestampHeader' | 'signedText'>[] {
  const timed = lines.filter(([, value]) => /^(?:\d{10}|\d{13})$/.test(value)).map(([name]) => name)
  const times = timed.flatMap((name) => timedTexts.map((text) => ({ timestampHeader: name, signedText: text })))
  return [{ timestampHeader, signedText }, { timestampHeader: undefined, signedText: undefined }, ...times]
}

const NAMES = ['algorithm', 'encoding', 'prefix', 'timestampHeader', 'signedText'] as const

function toVariations(own: HmacSettings, other: Omit<HmacSettings, 'header'>): Variation[] {
  const changed = NAMES.filter((name) => other[name] !== own[name])
  if (changed.length === 0) return []
  const entries = changed.map((name) => `"${name}": ${other[name] === undefined ? 'omitted' : `"${other[name]}"`}`)
  return [
    {
      cause: 'settings',
      message: `The settings of the provider do not match: it is signed with ${entries.join(', ')}`,
      fix: 'Change the settings accordingly',
      apply: (attempt) => ({ ...attempt, settings: { ...attempt.settings, ...other } }),
    },
  ]
}
