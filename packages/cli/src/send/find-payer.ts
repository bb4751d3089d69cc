import { createProvider, unhandledReason, type WebhookEvent } from '@oncehook/webhooks/providers'
import { signDelivery } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { EVENT_REASONS } from '../event-reasons.ts'
import type { ProviderEntries } from '../options/provider-entries.ts'
import { type KnownProvider, readProvider } from '../verify/known-providers.ts'

type SecretEntry = KnownProvider['settings']['secrets'][number]

/** The first provider through which `send` can pay an order, or why it cannot do so through each of them, as clauses. */
export type Payer =
  | { readonly name: string; readonly secret: SecretEntry }
  | { readonly problems: Readonly<Record<string, string>> }

/** Finds out by signing a payment and by verifying and reading it with the code of the gateway. `now` in milliseconds. */
export async function findPayer({ entries, sources }: ProviderEntries, now: number): Promise<Payer> {
  const problems: Record<string, string> = {}
  for (const [name, entry] of Object.entries(entries)) {
    try {
      const found = await tryToPay(readProvider(name, entry, sources), now)
      if (typeof found !== 'string') return { name, secret: found }
      problems[name] = found
    } catch (error) {
      problems[name] = error instanceof Error ? error.message : String(error)
    }
  }
  return { problems }
}

const PAYMENT = {
  ...{ id: 'evt_1', type: 'payment.succeeded', paymentId: 'pay_1', orderId: 'ord_1' },
  ...{ amount: 1999, currency: 'EUR' },
}
const MAX_BYTES = 1_000_000

/** The secret that signs, or why there is no payment. */
async function tryToPay(known: KnownProvider, now: number): Promise<SecretEntry | string> {
  const { settings, secretTexts } = known
  const signer = signers.get(settings.scheme)
  if (signer === undefined) return 'the command line cannot sign for its scheme'
  if (signer.needsPrivateKey === true) return 'only the provider has the private key that signs'
  if (signer.describeObject !== undefined) return 'the gateway asks the provider about each payment'
  const at = settings.secrets.findIndex(({ notAfter }) => notAfter === undefined || Date.parse(notAfter) > now)
  const [entry, secret] = [settings.secrets[at], secretTexts[at]]
  if (entry === undefined || secret === undefined) return 'it has no valid secret'
  const provider = createProvider({ ...known, maxBytes: MAX_BYTES })
  if ('problems' in provider) return provider.problems.join('; ')
  const paymentId = signer.paymentIdOf?.(PAYMENT) ?? PAYMENT.paymentId
  const body = signer.writeEvent({ ...PAYMENT, paymentId, occurredAt: now })
  const signed = signDelivery(signer, { body, secret, now, eventId: PAYMENT.id, settings: { ...settings } })
  const delivery = { rawBody: Buffer.from(signed.body), rawHeaders: signed.headers.flat(), query: signed.query }
  const verified = await provider.verify(delivery, now, fetch)
  if ('refused' in verified) return `the gateway would refuse a payment that is signed here (${verified.refused})`
  return problemOf(provider.readEvents(verified)[0]) ?? entry
}

function problemOf(event: WebhookEvent | undefined): string | null {
  if (event === undefined) return 'its payment would be no event'
  const reason = unhandledReason(event, (type) => type === PAYMENT.type) ?? event.facts.unreadable
  if (reason !== undefined) return `its payment would have no effect: ${EVENT_REASONS[reason].why} (${reason})`
  return event.facts.orderId === PAYMENT.orderId ? null : 'its payment would name no order'
}
