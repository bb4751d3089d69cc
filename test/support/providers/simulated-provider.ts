import { type DevelopmentSecret, makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import type { Signer, SigningRequest, SigningSettings } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'

/** A provider as the simulator plays it, and the settings by which the gateway knows it. */
export interface SimulatedProvider {
  readonly signer: Signer
  readonly secret: DevelopmentSecret
  /** An entry of `PROVIDERS`. */
  readonly settings: Readonly<Record<string, unknown>> & { readonly scheme: string }
  /** What to sign, at `now` (milliseconds). */
  request(event: PaymentEvent, now: number): SigningRequest
}

/** Where a provider is to deliver, and where its API listens. */
export interface SimulatedPlace {
  readonly publicUrl: string
  readonly apiUrl: string
  readonly apiToken: string
  /** Milliseconds: from when its certificate counts, where it has one. */
  readonly now: number
}

/** A provider of a scheme with a secret that was just made. */
export async function simulateProvider(
  scheme: string,
  place: SimulatedPlace,
  more: SigningSettings = {},
): Promise<SimulatedProvider> {
  const signer = signers.get(scheme)
  if (signer === undefined) throw new Error(`The simulator knows no scheme ${scheme}`)
  const secret = await makeDevelopmentSecret(scheme, place.now)
  const fetch = { baseUrl: place.apiUrl, token: place.apiToken }
  const own: SigningSettings = {
    ...(scheme === 'hmac' ? { header: 'x-signature', timestampHeader: 'x-timestamp' } : {}),
    ...(scheme !== 'hmac' && signer.settings.includes('publicUrl') ? { publicUrl: place.publicUrl } : {}),
    ...more,
  }
  const needsApi = signer.describeObject !== undefined && secret.value?.startsWith('whsec_') !== true
  return {
    signer,
    secret,
    settings: {
      scheme,
      ...signer.mapping,
      ...own,
      ...secret.gatewaySettings,
      ...(needsApi ? { fetch } : {}),
      // Its simulated events are test events.
      ...(scheme === 'stripe' ? { testMode: true } : {}),
      effects: ['payment.succeeded', 'payment.failed'],
      secrets: secret.value === null ? [] : [{ id: 's1', value: secret.value }],
    },
    request: (event, now) => ({
      body: signer.writeEvent(event),
      secret: secret.signWith,
      now,
      eventId: event.id,
      settings: { ...own, ...secret.signerSettings },
    }),
  }
}
