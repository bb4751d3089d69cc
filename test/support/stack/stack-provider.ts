import { setTimeout as sleep } from 'node:timers/promises'
import { createPaymentProvider, type PaymentProvider } from '@oncehook/simulator/payment-provider'
import type { Signer } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { BODY_CANARY, type StackSecrets } from './canaries.ts'
import { providersOf } from './stack-settings.ts'

/** The providers that every stack knows, one for each scheme. */
export type ProviderName = 'acme' | 'stripe' | 'shop'

/** A provider of a stack: which, and where it delivers. */
export interface ProviderParts {
  readonly name: ProviderName
  readonly url: string
  readonly secrets: StackSecrets
  /** Every signature that goes out is added. */
  readonly signatures: Set<string>
}

/** Creates a provider that signs as the gateways of its stack expect. Its bodies can be recognised anywhere. */
export function createStackProvider({ name, url, secrets, signatures }: ProviderParts): PaymentProvider {
  const settings = providersOf(secrets)[name] as { readonly scheme: string }
  const noticing: typeof fetch = (input, init) => {
    for (const [header, value] of new Headers(init?.headers)) if (header.includes('signature')) signatures.add(value)
    return fetch(input, init)
  }
  const deps = {
    fetch: noticing,
    now: () => performance.timeOrigin + performance.now(),
    sleep: async (ms: number) => sleep(ms),
  }
  const secret = name === 'acme' ? secrets.acme.current : secrets[name]
  return createPaymentProvider(deps, {
    url: `${url}/api/webhooks/${name}`,
    signer: marked(signerOf(settings.scheme)),
    secret,
    settings: { ...settings },
    timeoutMs: 10_000,
  })
}

function signerOf(scheme: string): Signer {
  const signer = signers.get(scheme)
  if (signer === undefined) throw new Error(`The simulator knows no scheme ${scheme}`)
  return signer
}

/**
 * The same signer with bodies that can be recognised anywhere. They have spaces that no serialiser would write,
 * so tests notice a service that does not store the exact bytes.
 */
function marked(signer: Signer): Signer {
  return {
    ...signer,
    writeEvent(event) {
      const body = JSON.parse(Buffer.from(signer.writeEvent(event)).toString()) as object
      return Buffer.from(` ${JSON.stringify({ ...body, memo: BODY_CANARY }, null, 3)}\n`)
    },
  }
}
