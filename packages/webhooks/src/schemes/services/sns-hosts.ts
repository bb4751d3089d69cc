import { readCapped } from '@oncehook/kernel/http/client'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import type { CertificateSource } from '../../signatures/certificate-finder.ts'

// A region, such as us-gov-west-1, and never the beginning of another service, such as s3-us-west-2: anybody may own a bucket `sns`.
const HOST = String.raw`sns\.[a-z]{2}(?:-[a-z]+)+-\d\.amazonaws\.com(?:\.cn)?`
const URL_OF_CERTIFICATE = new RegExp(String.raw`^https://(?<host>${HOST})/[A-Za-z0-9_-]{1,100}\.pem$`)
const URL_OF_SUBSCRIPTION = new RegExp(String.raw`^https://${HOST}/\?[!-~]{1,2000}$`)

/** The host of a URL that can name a certificate of SNS; null for any other URL. */
export function snsHostOf(url: string): string | null {
  return URL_OF_CERTIFICATE.exec(url)?.groups?.host ?? null
}

// The names of AWS's own library (SnsHostProvider of the Java SDK): sns.…, sns-cn-north-1.…, sns-signing.me-south-1.…
const COMMON_NAME = /^CN=sns(?:-[a-z0-9-]+)?(?:\.[a-z0-9-]+)?\.amazonaws\.com(?:\.cn)?$/m

/** SNS sends its certificate without those that vouch for it, so the pinned host does, over https. */
export const SNS_CERTIFICATES: CertificateSource = {
  hostOf: snsHostOf,
  chainOf: ([leaf]) => (leaf === undefined || leaf.publicKey.asymmetricKeyType !== 'rsa' ? null : [leaf]),
  isOwn: ({ subject }) => COMMON_NAME.test(subject),
}

/** Whether a URL confirms a subscription of this topic, at SNS itself. */
export function isSubscribeUrl(url: unknown, topicArn: string): boolean {
  if (typeof url !== 'string' || !URL_OF_SUBSCRIPTION.test(url) || url.includes('#')) return false
  const fields = new URL(url).searchParams
  return fields.get('Action') === 'ConfirmSubscription' && fields.getAll('TopicArn').join('\n') === topicArn
}

const TIMEOUT_MS = 3_000
const MAX_BYTES = 65_536
const MAX_KEPT = 64

/**
 * Confirms subscriptions, within 3 s and 64 KiB, without following redirects. One that was confirmed is not confirmed again, however
 * often its message comes. Rejects with `unavailable` if SNS does not confirm it: it sends the message again.
 */
export function createSubscriber(): (url: string, fetch: typeof globalThis.fetch) => Promise<void> {
  const confirmed = new Map<string, Promise<void>>()
  return (url, fetch) => {
    const known = confirmed.get(url)
    if (known !== undefined) return known
    if (confirmed.size >= MAX_KEPT) confirmed.delete(confirmed.keys().next().value ?? '')
    const started = confirm(url, fetch)
    confirmed.set(url, started)
    started.catch(() => confirmed.delete(url))
    return started
  }
}

async function confirm(url: string, fetch: typeof globalThis.fetch): Promise<void> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
    await readCapped(response, MAX_BYTES)
    if (response.status === 200) return
    throw unavailable({ reason: 'subscription_not_confirmed', providerStatus: response.status })
  } catch (error) {
    throw unavailable.is(error) ? error : unavailable({ reason: 'subscription_not_confirmed' }, { cause: error })
  }
}
