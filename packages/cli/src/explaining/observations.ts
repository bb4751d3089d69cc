import { PAYPAL_MAX_AGE_SECONDS } from '@oncehook/gateway/providers/paypal'
import { toAge, toPrintable } from '../output.ts'
import type { SignedTime } from '../verifying/signed-time.ts'
import type { Attempt } from './attempt.ts'
import type { Cause, Variation } from './cause.ts'
import { toLines } from './header-variations.ts'
import { headerFamiliesOf, schemesWithHeaders } from './scheme-headers.ts'

/** What can be seen without trying anything: it need not be the reason. */
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
        says: `The header ${name} is there ${lines.filter(([one]) => one === name).length} times; it must be there once`,
        fix: 'See which proxy adds a line of its own instead of passing the provider’s',
      }),
    ),
    ...(settings.scheme === 'shopify' && own.length > 1 ? [twoFamilies] : []),
    ...findMissing({ settings, families, present }),
    ...findEmpty(lines, new Set(own)),
  ]
}

const twoFamilies = seen({
  cause: 'header_repeated',
  says: 'Both families of headers are there, x-shopify- and shopify-; only one may be',
  fix: 'See who adds the second one: Shopify sends one of them',
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
      says: `The header ${missing.join(' and the header ')} ${missing.length === 1 ? 'is' : 'are'} missing${hintOf(scheme, present)}`,
      fix: 'See whether the provider sends it, and whether a proxy or a log took it away',
    }),
    ...(others.length === 0
      ? []
      : [
          seen({
            cause: 'wrong_scheme',
            says: `The headers are those of ${others.join(' or ')}; the settings say ${scheme}`,
            fix: `Write "scheme": "${others[0]}", or look which provider delivers to this address`,
          }),
        ]),
  ]
}

function countOf(family: readonly string[], present: ReadonlySet<string>): number {
  return family.filter((name) => present.has(name)).length
}

/** Older headers of the same provider, which do not count. */
function hintOf(scheme: string, present: ReadonlySet<string>): string {
  if (scheme === 'github' && present.has('x-hub-signature')) return ': only the older SHA-1 header is there'
  if (scheme === 'standard-webhooks' && present.has('svix-id') && present.has('webhook-signature')) {
    return ': the families webhook- and svix- are mixed'
  }
  return ''
}

function findEmpty(lines: readonly (readonly [string, string])[], own: ReadonlySet<string>): Cause[] {
  return lines
    .filter(([name, value]) => own.has(name) && value.trim() === '')
    .map(([name]) =>
      seen({ cause: 'header_missing', says: `The header ${name} is empty`, fix: 'See who took its value away' }),
    )
}

function observeTime({ settings, now }: Attempt, time: SignedTime | null): Cause[] {
  if (time === null) return []
  if (time.ms === null) {
    const says = `The time in ${time.header} is no time that the scheme knows: ${toPrintable(time.text).slice(0, 20)}`
    return [seen({ cause: 'clock', says, fix: 'It has to pass as the provider sends it, in seconds with ten digits' })]
  }
  const away = Math.abs(now - time.ms) / 1000
  const window = windowOf(settings, time.ms < now)
  return away <= window ? [] : [seen(toClockCause(time.ms, now, window))]
}

/** Seconds; PayPal alone may be late by more than it may be early. */
function windowOf({ scheme, toleranceSeconds }: Attempt['settings'], isPast: boolean): number {
  return isPast && scheme === 'paypal' ? PAYPAL_MAX_AGE_SECONDS : toleranceSeconds
}

function toClockCause(signedAt: number, now: number, tolerance: number): Omit<Cause, 'proved'> {
  const away = Math.round(Math.abs(now - signedAt) / 1000)
  const where = signedAt < now ? 'old' : 'ahead'
  return {
    cause: 'clock',
    says: `It is ${toAge(away)} ${where} (${away} s), and the window is ${tolerance} s`,
    fix:
      signedAt < now
        ? 'Judge a delivery that was kept as of its own time with --now; else look at the clock and at what holds deliveries up'
        : 'Set the clock of this machine by NTP; the provider’s is seldom wrong',
  }
}

/** The time that was signed, taken for now. */
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
  const says = `The body is marked as ${toPrintable(encoding)}; the gateway takes none that is encoded`
  return [seen({ cause: 'body_changed', says, fix: 'Switch the compression off on the way to the gateway' })]
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
      says: `The body says ${mark[1]}: it comes from the provider’s test environment, which has a secret of its own`,
      fix: 'Compare the secret with that of the test environment',
    }),
  ]
}

/** Where the body carries what other schemes have in headers. */
function observeBody({ scheme, delivery }: Attempt): Cause[] {
  const isAdyen = delivery.rawBody.includes('"NotificationRequestItem"')
  if (scheme.signsNothing === true) {
    const says =
      'The body is no form with the one id that this provider sends; there is no signature that could be wrong'
    return [seen({ cause: 'body_changed', says, fix: 'Look at the body that came, and at who sends it' })]
  }
  if (isAdyen && scheme.name !== 'adyen') {
    const says = `The body holds items of Adyen’s payment webhooks; the settings say ${scheme.name}`
    return [seen({ cause: 'wrong_scheme', says, fix: 'Write "scheme": "adyen"' })]
  }
  if (scheme.name !== 'adyen' || (isAdyen && delivery.rawBody.includes('"hmacSignature"'))) return []
  const says = 'No item of the body carries additionalData.hmacSignature'
  return [
    seen({ cause: 'header_missing', says, fix: 'Generate an HMAC key for this webhook with Adyen, and save it there' }),
  ]
}
