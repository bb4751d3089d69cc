import {
  type Cause,
  type Delivery,
  headerLines,
  PAYPAL_MAX_AGE_SECONDS,
  type PossibleCause,
  type ProviderSettings,
  SCHEMES,
  type Scheme,
} from '@oncehook/webhooks/providers'

interface Observed {
  readonly scheme: Pick<Scheme, 'name' | 'signsNothing'>
  readonly settings: ProviderSettings
  readonly delivery: {
    readonly rawHeaders: readonly string[]
    /** Undefined if the body was not read. */
    readonly rawBody: Buffer | undefined
  }
  /** Milliseconds. */
  readonly now: number
}

/** Possible causes that can be seen without a new attempt to verify. */
export function observe(observed: Observed, signedTime: SignedTime | null): Cause[] {
  const { rawBody } = observed.delivery
  return [
    ...observeHeaders(observed),
    ...(rawBody === undefined ? [] : observeBody(observed, rawBody)),
    ...observeTime(observed, signedTime),
    ...observeEncoding(observed),
    ...(rawBody === undefined ? [] : observeTestMode(observed.settings, rawBody)),
  ]
}

function seen(cause: PossibleCause): Cause {
  return { ...cause, proved: false }
}

function observeHeaders({ settings, delivery }: Observed): Cause[] {
  const lines = linesOf(delivery.rawHeaders)
  const present = new Set(lines.map(([name]) => name))
  const families = headerFamiliesOf(settings)
  const own = families.flat().filter((name) => present.has(name))
  const repeated = [...new Set(own)].filter((name) => lines.filter(([one]) => one === name).length > 1)
  return [
    ...repeated.map((name) =>
      seen({
        cause: 'header_repeated',
        message: `The header ${name} occurs ${lines.filter(([one]) => one === name).length} times; it must occur once`,
        fix: 'Check which proxy adds its own line instead of passing on the one from the provider',
      }),
    ),
    ...(settings.scheme === 'shopify' && own.length > 1 ? [twoFamilies] : []),
    ...findMissing(settings, families, present),
    ...findEmpty(lines, new Set(own)),
  ]
}

const twoFamilies = seen({
  cause: 'header_repeated',
  message: 'Both header families are present, x-shopify- and shopify-; only one is allowed',
  fix: 'Check what adds the second one: Shopify sends only one',
})

function findMissing(
  { scheme }: ProviderSettings,
  families: readonly (readonly string[])[],
  present: ReadonlySet<string>,
): Cause[] {
  if (families.length === 0 || families.some((family) => family.every((name) => present.has(name)))) return []
  const [nearest = []] = families.toSorted((one, other) => countOf(other, present) - countOf(one, present))
  const missing = nearest.filter((name) => !present.has(name))
  const others = schemesWithHeaders(present).filter((name) => name !== scheme)
  return [
    seen({
      cause: 'header_missing',
      message: `The header ${missing.join(' and the header ')} ${missing.length === 1 ? 'is' : 'are'} missing${hintOf(scheme, present)}`,
      fix: 'Check whether the provider sends it, and whether a proxy or a log removed it',
    }),
    ...(others.length === 0
      ? []
      : [
          seen({
            cause: 'wrong_scheme',
            message: `The headers belong to ${others.join(' or ')}, but the settings have ${scheme}`,
            fix: `Set "scheme": "${others[0]}", or check which provider delivers to this URL`,
          }),
        ]),
  ]
}

function countOf(family: readonly string[], present: ReadonlySet<string>): number {
  return family.filter((name) => present.has(name)).length
}

/** A hint about headers of the same provider that are not sufficient. */
function hintOf(scheme: string, present: ReadonlySet<string>): string {
  if (scheme === 'github' && present.has('x-hub-signature')) return ': only the older SHA-1 header is present'
  if (scheme === 'standard-webhooks' && present.has('svix-id') && present.has('webhook-signature')) {
    return ': the header families webhook- and svix- are mixed'
  }
  return ''
}

function findEmpty(lines: readonly (readonly [string, string])[], own: ReadonlySet<string>): Cause[] {
  return lines
    .filter(([name, value]) => own.has(name) && value.trim() === '')
    .map(([name]) =>
      seen({ cause: 'header_missing', message: `The header ${name} is empty`, fix: 'Check what removed its value' }),
    )
}

function observeTime({ settings, now }: Observed, time: SignedTime | null): Cause[] {
  if (time !== null && time.ms === null) {
    // The text is not shown: it may be a part of a signature that is in the wrong place.
    const message = `The time in ${time.header} has an unknown format`
    const form =
      settings.scheme === 'hmac' ? 'seconds, milliseconds or ISO 8601 with a zone' : 'seconds, with ten digits'
    return [seen({ cause: 'clock', message, fix: `Pass it unchanged; it must be in ${form}` })]
  }
  const cause = clockCauseOf(settings, time, now)
  return cause === null ? [] : [seen(cause)]
}

/** The cause for a signed time outside the tolerance; null if it is inside, or if there is none. */
export function clockCauseOf(settings: ProviderSettings, time: SignedTime | null, now: number): PossibleCause | null {
  if (time === null || time.ms === null) return null
  const isPast = time.ms < now
  const tolerance = windowOf(settings, isPast)
  const away = Math.abs(now - time.ms) / 1000
  if (away <= tolerance) return null
  const seconds = Math.round(away)
  return {
    cause: 'clock',
    message: `The signed time is ${ageOf(seconds)} ${isPast ? 'old' : 'ahead'} (${seconds} s), but the tolerance is ${tolerance} s`,
    fix: isPast
      ? 'For a saved delivery, give its time with --now; otherwise check the clock and what delays deliveries'
      : 'Synchronize the clock of this machine with NTP; the clock of the provider is rarely wrong',
  }
}

/** In seconds. Only for PayPal, the past has another limit than the future. */
function windowOf({ scheme, toleranceSeconds }: ProviderSettings, isPast: boolean): number {
  return isPast && scheme === 'paypal' ? PAYPAL_MAX_AGE_SECONDS : toleranceSeconds
}

const AGES: readonly (readonly [below: number, of: (seconds: number) => string])[] = [
  [120, (seconds) => `${seconds} s`],
  [7_200, (seconds) => `${Math.round(seconds / 60)} min`],
  [172_800, (seconds) => `${(seconds / 3_600).toFixed(1)} h`],
  [Number.POSITIVE_INFINITY, (seconds) => `${Math.round(seconds / 86_400)} d`],
]

function ageOf(seconds: number): string {
  return AGES.find(([below]) => seconds < below)?.[1](seconds) ?? ''
}

function observeEncoding({ delivery }: Observed): Cause[] {
  const encoding = linesOf(delivery.rawHeaders).find(([name]) => name === 'content-encoding')?.[1]
  if (encoding === undefined || encoding === 'identity') return []
  const message = `The body has the content coding ${toPlain(encoding, 40)}, but the gateway accepts none`
  return [seen({ cause: 'body_changed', message, fix: 'Turn off compression between the provider and the gateway' })]
}

const marks = [
  [/"livemode"\s*:\s*false/, 'livemode', false],
  [/"live"\s*:\s*"?false/, 'live', false],
  [/"live_mode"\s*:\s*false/, 'live_mode', false],
  [/"test_mode"\s*:\s*true/, 'test_mode', true],
  [/"test"\s*:\s*true/, 'test', true],
  [/"mode"\s*:\s*"test"/, 'mode', 'test'],
  [/"environment"\s*:\s*"test"/, 'environment', 'test'],
] as const

function observeTestMode(settings: ProviderSettings, rawBody: Buffer): Cause[] {
  const text = rawBody.toString('latin1', 0, 65_536)
  const mark = marks.find(([pattern]) => pattern.test(text))
  if (mark === undefined) return []
  const [, name, value] = mark
  if (isExpected(settings, name, value)) return []
  return [
    seen({
      cause: 'test_mode',
      message: `The body contains ${name} ${value}: it comes from the test environment, which uses a different secret`,
      fix: 'Compare the secret with that of the test environment',
    }),
  ]
}

/** Whether the settings are those of the test environment: then its secret is expected, too. */
function isExpected(settings: ProviderSettings, name: string, value: unknown): boolean {
  if ('testMode' in settings && settings.testMode === true) return true
  return Object.entries(settings.expect ?? {}).some(
    ([pointer, wanted]) => pointer.endsWith(`/${name}`) && wanted === value,
  )
}

/** Possible causes in bodies that contain the signature. */
function observeBody({ scheme }: Observed, rawBody: Buffer): Cause[] {
  const isAdyen = rawBody.includes('"NotificationRequestItem"')
  if (scheme.signsNothing === true) {
    const message =
      'The body is not a form with exactly one id, as this provider sends it; this scheme has no signature'
    return [seen({ cause: 'body_changed', message, fix: 'Check the received body and its sender' })]
  }
  if (isAdyen && scheme.name !== 'adyen') {
    const message = `The body contains items of Adyen payment webhooks, but the settings have ${scheme.name}`
    return [seen({ cause: 'wrong_scheme', message, fix: 'Set "scheme": "adyen"' })]
  }
  if (scheme.name !== 'adyen' || (isAdyen && rawBody.includes('"hmacSignature"'))) return []
  const message = 'No item in the body has additionalData.hmacSignature'
  return [
    seen({
      cause: 'header_missing',
      message,
      fix: 'Generate an HMAC key for this webhook at Adyen, and save it there',
    }),
  ]
}

export function linesOf(rawHeaders: readonly string[]): (readonly [name: string, value: string])[] {
  return rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? ''] as const] : [],
  )
}

/** A shortened text from a stranger, without control characters. */
export function toPlain(text: string, length: number): string {
  return text.slice(0, length).replace(/\p{C}/gu, '\ufffd')
}

export interface SignedTime {
  /** The header name, in lower case. */
  readonly header: string
  /** Milliseconds since 1970; null if the text is not a time. */
  readonly ms: number | null
  readonly text: string
}

/** The header and, for a list, the pattern of the item. */
type Place = readonly [header: string, member?: RegExp]

const places: Readonly<Record<string, readonly Place[]>> = {
  'standard-webhooks': [['webhook-timestamp'], ['svix-timestamp']],
  gitlab: [['webhook-timestamp'], ['svix-timestamp']],
  stripe: [['stripe-signature', /(?:^|,)\s*t=([^,]*)/]],
  paddle: [['paddle-signature', /(?:^|;)\s*ts=([^;]*)/]],
  hook0: [['x-hook0-signature', /(?:^|,)\s*t=([^,]*)/]],
  mercadopago: [['x-signature', /(?:^|,)\s*ts=([^,]*)/]],
  slack: [['x-slack-request-timestamp']],
  zoom: [['x-zm-request-timestamp']],
  discord: [['x-signature-timestamp']],
  sendgrid: [['x-twilio-email-event-webhook-timestamp']],
  cashfree: [['x-webhook-timestamp']],
  paypal: [['paypal-transmission-time']],
}

/** The signed time in the headers of a delivery, or null if the scheme signs none or the header is missing. */
export function findSignedTime(
  settings: ProviderSettings,
  { rawHeaders }: Pick<Delivery, 'rawHeaders'>,
): SignedTime | null {
  const { scheme } = settings
  for (const [header, member] of scheme === 'hmac' ? placesOfHmac(settings as HmacTime) : (places[scheme] ?? [])) {
    const [value] = headerLines(rawHeaders, header)
    const text = member === undefined ? value : member.exec(value ?? '')?.[1]
    if (text !== undefined) return { header, text, ms: toMs(text) }
  }
  return null
}

type HmacTime = Partial<Record<'header' | 'separator' | 'timestampHeader' | 'timestampPrefix', string>>

function placesOfHmac(settings: HmacTime): readonly Place[] {
  const { header, separator, timestampHeader, timestampPrefix: prefix } = settings
  if (timestampHeader !== undefined) return [[timestampHeader]]
  if (header === undefined || separator === undefined || prefix === undefined) return []
  // Without a prefix, the time is the first item.
  const before = prefix === '' ? '^' : `(?:^|${separator}) *${prefix.replaceAll(/\W/g, '\\$&')}`
  return [[header, new RegExp(`${before}([^${separator}]*)`)]]
}

function toMs(text: string): number | null {
  if (/^\d{10}$/.test(text)) return Number(text) * 1000
  if (/^\d{13}$/.test(text)) return Number(text)
  const ms = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}

/** Headers that belong together, in lower case. */
export type HeaderFamily = readonly string[]

/**
 * The headers of a scheme: one family must be complete. Empty for a scheme without signature headers (`adyen`,
 * `mollie-classic`).
 */
export function headerFamiliesOf(settings: ProviderSettings): readonly HeaderFamily[] {
  const scheme = SCHEMES.get(settings.scheme)
  return scheme?.headerFamilies ?? [scheme?.signedHeaders(settings) ?? []].filter((family) => family.length > 0)
}

/** A delivery with the headers of Standard Webhooks belongs to that scheme, whoever uses them too. */
const searched = ['standard-webhooks', ...[...SCHEMES.keys()].filter(hasOwnHeaders)].map(
  (scheme) => [scheme, headerFamiliesOf({ scheme } as ProviderSettings)] as const,
)

function hasOwnHeaders(scheme: string): boolean {
  const isStandard = ([first = '']: HeaderFamily): boolean => ['webhook-id', 'svix-id'].includes(first)
  return !headerFamiliesOf({ scheme } as ProviderSettings).every(isStandard)
}

/** The schemes whose headers are all present, except those whose headers are a subset of another scheme's. */
export function schemesWithHeaders(present: ReadonlySet<string>): string[] {
  const found = searched.flatMap(([scheme, own]) => {
    const [family] = own.filter((one) => one.every((name) => present.has(name)))
    return family === undefined ? [] : [{ scheme, family }]
  })
  const isPart = ({ family }: { family: HeaderFamily }): boolean =>
    found.some((other) => other.family.length > family.length && family.every((name) => other.family.includes(name)))
  return found.filter((one) => !isPart(one)).map(({ scheme }) => scheme)
}
