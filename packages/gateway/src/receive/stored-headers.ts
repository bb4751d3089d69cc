import { type Delivery, type Provider, signWithToken, singleHeader } from '@oncehook/webhooks/providers'

const ALWAYS_KEPT = ['content-type', 'user-agent']
const MOST_KEPT_LENGTH = 2_048

/**
 * Returns the headers to store with an event: the ones needed to verify its signature again, and two that help to
 * understand it. This is an allow-list, because some providers have sent secrets in custom headers. If a plaintext token is
 * itself the secret, only a signature made with it is stored.
 */
export function storedHeaders(
  provider: Pick<Provider, 'signedHeaders' | 'coveredHeaders' | 'staticTokenHeader'>,
  delivery: Delivery,
): Record<string, string> {
  const kept: Record<string, string> = {}
  const covered = provider.coveredHeaders?.(delivery) ?? []
  for (const name of [...provider.signedHeaders, ...covered, ...ALWAYS_KEPT]) {
    const value = singleHeader(delivery.rawHeaders, name)
    if (value === null || value.length > MOST_KEPT_LENGTH) continue
    kept[name] = name === provider.staticTokenHeader ? signWithToken(value, delivery.rawBody) : value
  }
  return kept
}
