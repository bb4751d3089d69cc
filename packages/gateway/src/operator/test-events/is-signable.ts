import type { Provider } from '@oncehook/webhooks/providers'
import { signers } from '@oncehook/webhooks/signing/signers'

/** Whether the gateway has the key that signs deliveries of this provider, and its events need no confirmation. */
export function isSignable({ scheme, confirm }: Pick<Provider, 'scheme' | 'confirm'>): boolean {
  const signer = signers.get(scheme)
  if (signer === undefined || signer.signsNothing === true) return false
  return signer.needsPrivateKey !== true && confirm === undefined
}
