import { X509Certificate } from 'node:crypto'
import { monotonicMs } from '@oncehook/kernel/time/clock'
import {
  type Chain,
  createCertificateFinder,
  type FindKey,
  isIssuedBy,
  MAX_CHAIN,
} from '../../signatures/certificate-finder.ts'

/** How old the time of a delivery may be: longer than PayPal redelivers, automatically or on request. */
export const PAYPAL_MAX_AGE_SECONDS = 30 * 86_400

// The only hosts of PayPal's certificates. A request cannot cause a fetch from any other host.
const URL_OF_CERTIFICATE =
  /^https:\/\/(?<host>(?:api|api-m)(?<sandbox>\.sandbox)?\.paypal\.com)\/v1\/notifications\/certs\/[A-Za-z0-9_-]{1,100}$/

/** The host of a URL that can name a certificate of PayPal; null for any other URL. */
export function certificateHost(url: string, { sandbox }: { readonly sandbox: boolean }): string | null {
  const groups = URL_OF_CERTIFICATE.exec(url)?.groups
  if (groups === undefined || (groups.sandbox !== undefined && !sandbox)) return null
  return groups.host ?? null
}

/** Creates the finder of PayPal's certificates, which trusts `roots` (PEM): a chain has to lead to one of them. */
export function createPaypalFinder(roots: readonly string[], elapsedMs: () => number = monotonicMs): FindKey {
  const trusted = roots.map((pem) => new X509Certificate(pem))
  return createCertificateFinder(
    { hostOf: certificateHost, chainOf: (sent) => buildChain(sent, trusted), isOwn: isOfPaypal },
    elapsedMs,
  )
}

/** The certificates from the first one to a trusted root; null if they lead to none. */
function buildChain(sent: Chain, roots: Chain): Chain | null {
  const [leaf, ...others] = sent
  if (leaf === undefined || leaf.ca || !isOfServers(leaf)) return null
  const chain = [leaf]
  for (let last = leaf; chain.length <= MAX_CHAIN; ) {
    const root = roots.find((candidate) => isIssuedBy(last, candidate))
    if (root !== undefined) return [...chain, root]
    const next = others.find(
      (candidate) => !chain.includes(candidate) && isOfServers(candidate) && isIssuedBy(last, candidate),
    )
    if (next === undefined) return null
    chain.push(next)
    last = next
  }
  return null
}

// RFC 5280 section 4.2.1.12: server and client authentication, and any purpose.
const PURPOSES = new Set(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2', '2.5.29.37.0'])

/** Whether a certificate that names its purposes names that of TLS. node:crypto does not show the length of a path. */
function isOfServers({ keyUsage: purposes }: X509Certificate): boolean {
  return !Array.isArray(purposes) || purposes.some((purpose) => PURPOSES.has(purpose))
}

/** Whether a certificate names a host of PayPal. Sandbox hosts count only if the sandbox is allowed. */
function isOfPaypal({ subject, subjectAltName = '' }: X509Certificate, sandbox: boolean): boolean {
  const names = [...subjectAltName.split(', ').map((name) => name.replace(/^DNS:/, '')), ...commonNames(subject)]
  const own = names.filter((name) => /^(?:[a-z0-9-]+\.)+paypal\.com$/.test(name))
  return own.some((name) => sandbox || !name.endsWith('.sandbox.paypal.com'))
}

function commonNames(subject: string): string[] {
  return subject.split('\n').flatMap((line) => (line.startsWith('CN=') ? [line.slice('CN='.length)] : []))
}
