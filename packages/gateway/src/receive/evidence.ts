import { signWithToken } from '@oncehook/webhooks/clear-token'
import { type Delivery, singleHeader } from '@oncehook/webhooks/delivery'
import type { Provider } from '@oncehook/webhooks/provider'

const ALWAYS = ['content-type', 'user-agent']
const MAX_LENGTH = 2_048

/**
 * The headers that are kept with an event: those that its signature can be checked against again, and two that help to
 * understand it. An allow-list, because providers have sent secrets in headers of their own; a token in clear that is the
 * secret is kept only as the signature that it makes.
 */
export function evidenceOf(
  provider: Pick<Provider, 'signedHeaders' | 'coveredHeaders' | 'clearTokenHeader'>,
  delivery: Delivery,
): Record<string, string> {
  const kept: Record<string, string> = {}
  const covered = provider.coveredHeaders?.(delivery) ?? []
  for (const name of [...provider.signedHeaders, ...covered, ...ALWAYS]) {
    const value = singleHeader(delivery.rawHeaders, name)
    if (value === null || value.length > MAX_LENGTH) continue
    kept[name] = name === provider.clearTokenHeader ? signWithToken(value, delivery.rawBody) : value
  }
  return kept
}
