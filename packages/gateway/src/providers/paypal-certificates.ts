import { type KeyObject, X509Certificate } from 'node:crypto'
import { unavailable } from '@oncehook/kernel/error-codes'
import { readCapped } from './provider-api.ts'

/**
 * The public key of the certificate under an address at `now` (milliseconds), or null where there is none to trust. It is
 * fetched by `fetch` where none is kept.
 */
export type FindKey = (url: string, now: number, fetch: typeof globalThis.fetch) => Promise<KeyObject | null>

const MAX_KEPT = 16
const MAX_FETCHING = 4
const MAX_BYTES = 65_536
const TIMEOUT_MS = 3_000
// A chain that has ended is asked for again no more often, whatever addresses requests name.
const ASK_AGAIN_MS = 300_000

// The only place that PayPal names certificates of; nothing else is ever asked for on the word of a request.
const ADDRESS = /^https:\/\/(?:[a-z0-9-]{1,63}\.){1,4}paypal\.com\/v1\/notifications\/certs\/[A-Za-z0-9_-]{1,100}$/

/** Whether an address is one of a certificate of PayPal's. */
export function isCertificateAddress(url: string): boolean {
  return ADDRESS.test(url)
}

/**
 * Creates the finder of PayPal's certificates, which trusts `roots` (in PEM): from PayPal's own hosts over https, without redirects, within 3 s and
 * 64 KiB, at most 4 at once. A chain that leads to a trusted root is kept, 16 of them; time is checked at every use, and
 * one that does not count now is fetched again, once in 5 minutes. The promise rejects with `unavailable` where a certificate cannot be fetched now.
 */
export function createCertificateFinder(roots: readonly string[]): FindKey {
  const kept = new Map<string, KeptChain>()
  const fetching = new Map<string, Promise<Chain | null>>()
  const trusted = roots.map((pem) => new X509Certificate(pem))

  async function fetchChain(url: string, now: number, fetch: typeof globalThis.fetch): Promise<Chain | null> {
    const pem = await fetchPem(url, fetch)
    const chain = pem === null ? null : buildChain(readCertificates(pem), trusted)
    kept.delete(url)
    if (chain === null) return null
    if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value ?? '')
    kept.set(url, { chain, fetchedAt: now })
    return chain
  }

  function chainOf(url: string, now: number, fetch: typeof globalThis.fetch): Promise<Chain | null> {
    const under = fetching.get(url)
    if (under !== undefined) return under
    if (fetching.size >= MAX_FETCHING) return Promise.reject(unavailable({ reason: 'certificates_busy' }))
    const started = fetchChain(url, now, fetch).finally(() => fetching.delete(url))
    fetching.set(url, started)
    return started
  }

  return async (url, now, fetch) => {
    if (!isCertificateAddress(url)) return null
    const known = kept.get(url)
    const isFresh = known !== undefined && (isChainValid(known.chain, now) || now - known.fetchedAt < ASK_AGAIN_MS)
    const chain = isFresh ? known.chain : await chainOf(url, now, fetch)
    const [leaf] = chain ?? []
    if (chain === null || leaf === undefined || !isOfPaypal(leaf)) return null
    return isChainValid(chain, now) ? leaf.publicKey : null
  }
}

type Chain = readonly X509Certificate[]

interface KeptChain {
  readonly chain: Chain
  /** Milliseconds. */
  readonly fetchedAt: number
}

function isChainValid(chain: Chain, now: number): boolean {
  return chain.every((certificate) => isValidAt(certificate, now))
}

async function fetchPem(url: string, fetch: typeof globalThis.fetch): Promise<string | null> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
    const body = await readCapped(response, MAX_BYTES)
    if (response.status >= 500 || response.status === 429)
      throw unavailable({ reason: 'certificate_not_fetched', providerStatus: response.status })
    return response.status === 200 ? body.toString('latin1') : null
  } catch (error) {
    throw unavailable.is(error) ? error : unavailable({ reason: 'certificate_not_fetched' }, { cause: error })
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g
const MAX_CHAIN = 6

/** The certificates of a text of PEM, in their order; what is none is left out. */
export function readCertificates(pem: string): X509Certificate[] {
  return (pem.match(PEM) ?? []).slice(0, MAX_CHAIN).flatMap((one) => {
    try {
      return [new X509Certificate(one)]
    } catch {
      return []
    }
  })
}

/** Whether a certificate counts at `now` (milliseconds). */
export function isValidAt({ validFrom, validTo }: X509Certificate, now: number): boolean {
  return Date.parse(validFrom) <= now && now <= Date.parse(validTo)
}

/** The certificates from the first one to a trusted root, or null where they lead to none. */
function buildChain(sent: Chain, roots: Chain): Chain | null {
  const [leaf, ...others] = sent
  if (leaf === undefined || leaf.ca) return null
  const chain = [leaf]
  for (let last = leaf; chain.length <= MAX_CHAIN; ) {
    const root = roots.find((candidate) => isIssuedBy(last, candidate))
    if (root !== undefined) return [...chain, root]
    const next = others.find((candidate) => !chain.includes(candidate) && isIssuedBy(last, candidate))
    if (next === undefined) return null
    chain.push(next)
    last = next
  }
  return null
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function isOfPaypal({ subject, subjectAltName = '' }: X509Certificate): boolean {
  const names = [...subjectAltName.split(', ').map((name) => name.replace(/^DNS:/, '')), ...commonNames(subject)]
  return names.some((name) => /^(?:[a-z0-9-]+\.)+paypal\.com$/.test(name))
}

function commonNames(subject: string): string[] {
  return subject.split('\n').flatMap((line) => (line.startsWith('CN=') ? [line.slice('CN='.length)] : []))
}
