import { z } from 'zod'
import type { Attempt } from '../attempt.ts'
import type { Variation } from '../cause.ts'
import { toLines } from './header-variations.ts'

const algorithms = ['sha256', 'sha1', 'sha512', 'sha384']
const encodings = ['hex', 'base64']
const timedTexts = [
  '{timestamp}.{body}',
  '{timestamp}{body}',
  '{timestamp}:{body}',
  'v0:{timestamp}:{body}',
  '{body}.{timestamp}',
  '{body}{timestamp}',
]

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
  return textsOf(own, lines).flatMap((text) =>
    prefixes.flatMap((prefix) =>
      algorithms.flatMap((algorithm) =>
        encodings.flatMap((encoding) => toVariations(own, { ...text, prefix, algorithm, encoding })),
      ),
    ),
  )
}

type TextSettings = Pick<HmacSettings, 'timestampHeader' | 'signedText'>

/** The configured text, the body alone, and each usual text with each header that contains a 10-digit time. */
function textsOf(own: HmacSettings, lines: ReturnType<typeof toLines>): TextSettings[] {
  const timed = lines.filter(([, value]) => /^\d{10}$/.test(value)).map(([name]) => name)
  const times = timed.flatMap((timestampHeader) => timedTexts.map((signedText) => ({ timestampHeader, signedText })))
  return [pickText(own), {}, ...times]
}

function pickText({ timestampHeader, signedText }: HmacSettings): TextSettings {
  return {
    ...(timestampHeader === undefined ? {} : { timestampHeader }),
    ...(signedText === undefined ? {} : { signedText }),
  }
}

function toVariations(own: HmacSettings, other: Omit<HmacSettings, 'header'>): Variation[] {
  const left = { timestampHeader: undefined, signedText: undefined }
  const settings: HmacSettings = { header: own.header, ...other }
  const changed = (['algorithm', 'encoding', 'prefix', 'timestampHeader', 'signedText'] as const).filter(
    (name) => settings[name] !== own[name],
  )
  if (changed.length === 0) return []
  const entries = changed.map(
    (name) => `"${name}": ${settings[name] === undefined ? 'omitted' : `"${settings[name]}"`}`,
  )
  return [
    {
      axis: 'scheme',
      cause: 'settings',
      message: `The settings of the provider do not match: it is signed with ${entries.join(', ')}`,
      fix: 'Change the settings accordingly',
      apply: (attempt) => ({ ...attempt, settings: { ...attempt.settings, ...left, ...settings } }),
    },
  ]
}
