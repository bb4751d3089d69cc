import { z } from 'zod'
import type { Attempt, Variation } from '../attempt.ts'
import { toLines } from './header-variations.ts'

const algorithms = ['sha256', 'sha1', 'sha512', 'sha384']
const encodings = ['hex', 'base64']
const timedTexts = [
  '{timestamp}.{body}',
  '{timestamp}{body}',
  '{timestamp}:{body}',
  'v0:{timestamp}:{body}',
  'v1.{timestamp}.{body}',
  '{body}.{timestamp}',
  '{body}{timestamp}',
]

const PLACES = ['prefix', 'separator', 'timestampPrefix'] as const
const TEXTS = ['timestampHeader', 'signedText'] as const

const hmacSettings = z.object({
  header: z.string(),
  algorithm: z.string(),
  encoding: z.string(),
  prefix: z.string(),
  separator: z.string().optional(),
  timestampPrefix: z.string().optional(),
  timestampHeader: z.string().optional(),
  signedText: z.string().optional(),
})

type HmacSettings = z.output<typeof hmacSettings>
type PlaceSettings = Pick<HmacSettings, (typeof PLACES)[number]>
type TextSettings = Pick<HmacSettings, (typeof TEXTS)[number]>

/** Other possible settings of the generic `hmac` scheme, derived from the received headers. */
export function settingsVariations({ settings, delivery }: Attempt): Variation[] {
  if (settings.scheme !== 'hmac') return []
  const own = hmacSettings.parse(settings)
  const lines = toLines(delivery.rawHeaders)
  const value = lines.find(([name]) => name === own.header)?.[1] ?? ''
  return placesOf(own, value).flatMap((place) =>
    textsOf(own, place, lines).flatMap((text) =>
      algorithms.flatMap((algorithm) =>
        encodings.flatMap((encoding) => toVariations(own, { ...place, ...text, algorithm, encoding })),
      ),
    ),
  )
}

/** Where the signature may be in the header: as configured, alone behind each prefix, or in a list that has a time. */
function placesOf(own: HmacSettings, value: string): PlaceSettings[] {
  const prefixes = [...new Set([own.prefix, /^[A-Za-z0-9]{1,12}[=,:]/.exec(value)?.[0] ?? '', ''])]
  const { separator, timestampPrefix } = own
  const configured = prefixes.map((prefix) => ({ prefix, separator, timestampPrefix }))
  const alone = separator === undefined ? [] : prefixes.map((prefix) => ({ prefix, ...NO_LIST }))
  return [...configured, ...alone, ...[',', ';'].flatMap((one) => placesInList(value, one))]
}

const NO_LIST = { separator: undefined, timestampPrefix: undefined }

function placesInList(value: string, separator: string): PlaceSettings[] {
  const items = value.split(separator).slice(0, MOST_ITEMS)
  const names = items.map((item) => /^ *([A-Za-z0-9_]{1,12}=)?/.exec(item)?.[1] ?? '')
  const time = items.findIndex((item, at) => isTime(item.trimStart().slice(names[at]?.length)))
  const timestampPrefix = names[time]
  if (timestampPrefix === undefined || items.length < 2) return []
  const others = new Set(names.filter((name, at) => at !== time && (name === '' || name !== timestampPrefix)))
  return [...others].map((prefix) => ({ prefix, separator, timestampPrefix }))
}

const MOST_ITEMS = 8

function isTime(text: string): boolean {
  return /^(?:\d{10}|\d{13}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))$/.test(text)
}

/** The configured text, the body alone, and each usual text with each time. */
function textsOf(own: HmacSettings, place: PlaceSettings, lines: ReturnType<typeof toLines>): TextSettings[] {
  if (place.timestampPrefix !== undefined)
    return [own.signedText, undefined, ...timedTexts].map((signedText) => ({ timestampHeader: undefined, signedText }))
  const timed = lines.filter(([, value]) => isTime(value)).map(([name]) => name)
  const times = timed.flatMap((timestampHeader) => timedTexts.map((signedText) => ({ timestampHeader, signedText })))
  const { timestampHeader, signedText } = own
  return [{ timestampHeader, signedText }, { timestampHeader: undefined, signedText: undefined }, ...times]
}

function toVariations(own: HmacSettings, other: Omit<HmacSettings, 'header'>): Variation[] {
  const changed = (['algorithm', 'encoding', ...PLACES, ...TEXTS] as const).filter((name) => other[name] !== own[name])
  if (changed.length === 0) return []
  const entries = changed.map((name) => `"${name}": ${other[name] === undefined ? 'omitted' : `"${other[name]}"`}`)
  return [
    {
      axis: 'scheme',
      cause: 'settings',
      message: `The settings of the provider do not match: it is signed with ${entries.join(', ')}`,
      fix: 'Change the settings accordingly',
      apply: (attempt) => ({ ...attempt, settings: { ...attempt.settings, ...other } }),
    },
  ]
}
