import { PAYPAL_MAX_AGE_SECONDS } from '@oncehook/webhooks/providers'
import { toAge, toPrintable } from '../output.ts'
import type { SignedTime } from '../verify/signed-time.ts'
import type { Attempt } from './attempt.ts'
import type { Cause, Variation } from './cause.ts'
import { headerFamiliesOf, schemesWithHeaders } from './scheme-headers.ts'
import { toLines } from './variations/header-variations.ts'

/** Possible causes that are visible without an attempt. */
export function observe(attempt: Attempt, signedTime: SignedTime | null): Cause[] {
  return [
    ...observeHeaders(attempt),
    ...observeBody(attempt),
    ...observeTime(attempt, signedTime),
    ...observeEncoding(attempt),
    ...observeTestMode(attempt),
  ]
}

function seen(cause: Omit<Cause, 'proved'>): Cause {
  return { ...cause, proved: false }
}

function observeHeaders({ settings, delivery }: Attempt): Cause[] {
  const lines = toLines(delivery.rawHeaders)
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
    ...findMissing({ settings, families, present }),
    ...findEmpty(lines, new Set(own)),
  ]
}

const twoFamilies = seen({
  cause: 'header_repeated',
  message: 'Both header families are present, x-shopify- and shopify-; only one is allowed',
  fix: 'Check what adds the second one: Shopify sends only one',
})

interface Presence {
  readonly settings: Attempt['settings']
  readonly families: readonly (readonly string[])[]
  readonly present: ReadonlySet<string>
}

function findMissing({ settings: { scheme }, families, present }: Presence): Cause[] {
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

function observeTime({ settings, now }: Attempt, time: SignedTime | null): Cause[] {
  if (time === null) return []
  if (time.ms === null) {
    const message = `The time in ${time.header} has an unknown format: ${toPrintable(time.text).slice(0, 20)}`
    return [seen({ cause: 'clock', message, fix: 'Pass it unchanged; it must be in seconds, with ten digits' })]
  }
  const away = Math.abs(now - time.ms) / 1000
  const window = windowOf(settings, time.ms < now)
  return away <= window ? [] : [seen(toClockCause(time.ms, now, window))]
}

/** In seconds. Only PayPal may be later than it may be early. */
function windowOf({ scheme, toleranceSeconds }: Attempt['settings'], isPast: boolean): number {
  return isPast && scheme === 'paypal' ? PAYPAL_MAX_AGE_SECONDS : toleranceSeconds
}

function toClockCause(signedAt: number, now: number, tolerance: number): Omit<Cause, 'proved'> {
  const away = Math.round(Math.abs(now - signedAt) / 1000)
  const where = signedAt < now ? 'old' : 'ahead'
  return {
    cause: 'clock',
    message: `The signed time is ${toAge(away)} ${where} (${away} s), but the tolerance is ${tolerance} s`,
    fix:
      signedAt < now
        ? 'For a saved delivery, give its time with --now; otherwise check the clock and what delays deliveries'
        : 'Synchronize the clock of this machine with NTP; the clock of the provider is rarely wrong',
  }
}

/** The attempt at the signed time. */
export function clockVariations({ settings, now }: Attempt, time: SignedTime | null): Variation[] {
  if (time === null || time.ms === null) return []
  const { ms } = time
  const window = windowOf(settings, ms < now)
  if (Math.abs(now - ms) <= window * 1000) return []
  return [
    {
      axis: 'clock',
      ...toClockCause(ms, now, window),
      apply: (attempt) => ({ ...attempt, now: ms }),
    },
  ]
}

function observeEncoding({ delivery }: Attempt): Cause[] {
  const encoding = toLines(delivery.rawHeaders).find(([name]) => name === 'content-encoding')?.[1]
  if (encoding === undefined || encoding === 'identity') return []
  const message = `The body has the content coding ${toPrintable(encoding)}, but the gateway accepts none`
  return [seen({ cause: 'body_changed', message, fix: 'Turn off compression between the provider and the gateway' })]
}

const marks = [
  [/"livemode"\s*:\s*false/, 'livemode false'],
  [/"live"\s*:\s*"?false/, 'live false'],
  [/"live_mode"\s*:\s*false/, 'live_mode false'],
  [/"test_mode"\s*:\s*true/, 'test_mode true'],
  [/"test"\s*:\s*true/, 'test true'],
  [/"mode"\s*:\s*"test"/, 'mode test'],
  [/"environment"\s*:\s*"test"/, 'environment test'],
] as const

function observeTestMode({ delivery }: Attempt): Cause[] {
  const text = delivery.rawBody.toString('latin1', 0, 65_536)
  const mark = marks.find(([pattern]) => pattern.test(text))
  if (mark === undefined) return []
  return [
    seen({
      cause: 'test_mode',
      message: `The body contains ${mark[1]}: it comes from the test environment, which uses a different secret`,
      fix: 'Compare the secret with that of the test environment',
    }),
  ]
}

/** Possible causes in bodies that contain the signature. */
function observeBody({ scheme, delivery }: Attempt): Cause[] {
  const isAdyen = delivery.rawBody.includes('"NotificationRequestItem"')
  if (scheme.signsNothing === true) {
    const message =
      'The body is not a form with exactly one id, as this provider sends it; this scheme has no signature'
    return [seen({ cause: 'body_changed', message, fix: 'Check the received body and its sender' })]
  }
  if (isAdyen && scheme.name !== 'adyen') {
    const message = `The body contains items of Adyen payment webhooks, but the settings have ${scheme.name}`
    return [seen({ cause: 'wrong_scheme', message, fix: 'Set "scheme": "adyen"' })]
  }
  if (scheme.name !== 'adyen' || (isAdyen && delivery.rawBody.includes('"hmacSignature"'))) return []
  const message = 'No item in the body has additionalData.hmacSignature'
  return [
    seen({
      cause: 'header_missing',
      message,
      fix: 'Generate an HMAC key for this webhook at Adyen, and save it there',
    }),
  ]
}
