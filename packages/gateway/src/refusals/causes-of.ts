import { type Cause, type Provider, SCHEMES } from '@oncehook/webhooks/providers'
import { wrongProvider } from '../providers/explain/cause.ts'
import type { RefusedDelivery } from './describe-refusal.ts'

/** A provider whose secret may have signed a delivery to another provider. */
export type OtherProvider = Pick<Provider, 'name' | 'scheme' | 'secrets' | 'verify'>

/** Why a delivery was refused, as far as the gateway knows; the time in milliseconds; and all providers. */
interface CausesContext {
  readonly why: string | null
  readonly now: number
  readonly providers: Iterable<OtherProvider>
}

const MOST_CAUSES = 6

/**
 * The causes of a refusal that can be found without other systems, most likely first. This takes at most about ten
 * checks of the signature. No text contains a secret, a signature, or a part of the body.
 */
export function causesOf(
  { provider, rawHeaders, rawBody, url = '' }: RefusedDelivery,
  { why, now, providers }: CausesContext,
): Cause[] {
  const at = url.indexOf('?')
  const delivery = { rawHeaders, rawBody, query: at === -1 ? '' : url.slice(at + 1) }
  const mayBeOthers = why === 'signature_mismatch' && rawBody !== undefined && rawBody.length <= MOST_TRIED_BYTES
  const others = mayBeOthers ? firstOthers(provider.name, providers) : []
  const signer =
    rawBody === undefined ? undefined : others.find((other) => accepts(other, { ...delivery, rawBody }, now))
  if (signer !== undefined) return [{ ...wrongProvider(provider.name, signer.name), proved: true }]
  return provider.explain(delivery, now).slice(0, MOST_CAUSES)
}

const MOST_OTHERS = 8
// Each check reads the whole body.
const MOST_TRIED_BYTES = 65_536

function firstOthers(name: string, providers: Iterable<OtherProvider>): OtherProvider[] {
  const others: OtherProvider[] = []
  for (const other of providers) {
    const fetchesKeys = SCHEMES.get(other.scheme)?.fetchesKeys !== undefined
    if (other.name === name || other.secrets.length === 0 || fetchesKeys) continue
    others.push(other)
    if (others.length >= MOST_OTHERS) break
  }
  return others
}

function accepts(other: OtherProvider, delivery: Parameters<Provider['verify']>[0], now: number): boolean {
  const verdict = other.verify(delivery, now, fetchNothing)
  if (!(verdict instanceof Promise)) return !('refused' in verdict)
  verdict.catch(() => undefined)
  return false
}

const fetchNothing: typeof fetch = () => Promise.reject(new Error('An explanation fetches nothing'))
