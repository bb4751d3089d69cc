import { type KeyObject, X509Certificate } from 'node:crypto'
import { readCapped } from '@oncehook/kernel/http/client'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { monotonicMs } from '@oncehook/kernel/time/clock'

/** The address that a certificate is looked up for, and the time. */
interface KeyLookup {
  /** When the certificate must be valid, in milliseconds since 1970. */
  readonly now: number
  readonly fetch: typeof globalThis.fetch
  /** The address of the sender; absent for a stored delivery. */
  readonly from?: string | undefined
  /** Whether hosts and certificates of the sandbox are also trusted. */
  readonly sandbox: boolean
}

/** A key that a trusted chain vouches for. */
interface FoundKey {
  readonly key: KeyObject
  /** Marks the key as used by a valid signature: its certificate is kept longer than others. */
  proved(): void
}

/**
 * The public key of the certificate at a URL, or null if there is no trusted one. It is fetched if none is cached.
 * Rejects with `unavailable` if it cannot be fetched now.
 */
export type FindKey = (url: string, lookup: KeyLookup) => Promise<FoundKey | null>

/** Why a certificate or a key is not fetched for an address whose earlier requests were useless. */
export const KEY_ASKED_IN_VAIN = 'key_asked_in_vain'

/** Whose certificates are fetched. */
export interface CertificateSource {
  /** The host of a URL that can name a certificate of the provider; null for any other URL, which is never fetched. */
  hostOf(url: string, lookup: Pick<KeyLookup, 'sandbox'>): string | null
  /** What vouches for the first of the certificates that were fetched, itself first; null if nothing does. */
  chainOf(sent: Chain): Chain | null
  /** Whether a certificate names the provider. */
  isOwn(leaf: X509Certificate, sandbox: boolean): boolean
}

const MAX_KEPT = 16
const MAX_PROVED = 64
// The two beyond the first limit are for URLs whose certificate has verified a delivery before.
const MAX_FETCHING = 4
const MAX_FETCHING_PROVED = 6
const MAX_BYTES = 65_536
const TIMEOUT_MS = 3_000
// An expired chain is requested again at most this often, whatever URLs requests name.
const ASK_AGAIN_MS = 300_000

/**
 * Creates the finder of a provider's certificates. It fetches from the provider's own hosts over https, without redirects, within
 * 3 s and 64 KiB, 4 at once and 2 more for URLs that have verified before. It keeps 16 chains that count, the least recently used
 * one goes first and those that have verified last. Time is checked at every use; a chain that does not count now is fetched again,
 * once in 5 minutes. An address that has asked for nothing useful three times waits. `elapsedMs` measures waits on a clock that is
 * never set back.
 */
export function createCertificateFinder(source: CertificateSource, elapsedMs: () => number = monotonicMs): FindKey {
  const kept = new Map<string, KeptChain>()
  const proved = new Set<string>()
  const fetching = new Map<string, Promise<Chain | null>>()
  const vain = createVainQuestions(elapsedMs)

  async function fetchChain(url: string, lookup: KeyLookup): Promise<Chain | null> {
    const pem = await fetchPem(url, lookup.fetch)
    const chain = pem === null ? null : source.chainOf(readCertificates(pem))
    kept.delete(url)
    if (chain === null) return null
    if (kept.size >= MAX_KEPT) kept.delete([...kept.keys()].find((one) => !proved.has(one)) ?? oldestOf(kept))
    kept.set(url, { chain, fetchedAt: elapsedMs() })
    return chain
  }

  function chainOf(url: string, lookup: KeyLookup): Promise<Chain | null> {
    const under = fetching.get(url)
    if (under !== undefined) return under
    const asker = { host: source.hostOf(url, lookup) ?? '', from: lookup.from }
    if (!proved.has(url) && vain.isTooMany(asker)) return refuse(KEY_ASKED_IN_VAIN)
    if (fetching.size >= (proved.has(url) ? MAX_FETCHING_PROVED : MAX_FETCHING)) return refuse('certificates_busy')
    const started = fetchChain(url, lookup).finally(() => fetching.delete(url))
    started.then(
      (chain) => chain === null && vain.count(asker),
      () => vain.count(asker),
    )
    fetching.set(url, started)
    return started
  }

  return async (url, lookup) => {
    if (source.hostOf(url, lookup) === null) return null
    const { now, sandbox } = lookup
    const known = kept.get(url)
    const isFresh =
      known !== undefined && (isChainValid(known.chain, now) || elapsedMs() - known.fetchedAt < ASK_AGAIN_MS)
    const chain = isFresh ? known.chain : await chainOf(url, lookup)
    const [leaf] = chain ?? []
    if (chain === null || leaf === undefined || !source.isOwn(leaf, sandbox) || !isChainValid(chain, now)) return null
    return {
      key: leaf.publicKey,
      proved() {
        touch(kept, url)
        proved.delete(url)
        proved.add(url)
        if (proved.size > MAX_PROVED) proved.delete(proved.values().next().value ?? '')
      },
    }
  }
}

/** A certificate and those that vouch for it. */
export type Chain = readonly X509Certificate[]

interface KeptChain {
  readonly chain: Chain
  /** A value of `elapsedMs`. */
  readonly fetchedAt: number
}

function refuse(reason: string): Promise<never> {
  return Promise.reject(unavailable({ reason }))
}

function oldestOf(kept: ReadonlyMap<string, unknown>): string {
  return kept.keys().next().value ?? ''
}

/** Makes an entry the most recently used one. */
function touch<Value>(map: Map<string, Value>, key: string): void {
  const value = map.get(key)
  if (value === undefined) return
  map.delete(key)
  map.set(key, value)
}

const MOST_VAIN = 3
const VAIN_WINDOW_MS = 30_000
const MAX_ASKERS = 10_000

interface Asker {
  readonly host: string
  readonly from: string | undefined
}

/** Counts the questions that led to nothing, by host and sender. */
export function createVainQuestions(elapsedMs: () => number): {
  isTooMany(asker: Asker): boolean
  count(asker: Asker): void
} {
  const counts = new Map<string, { vain: number; readonly until: number }>()
  const find = ({ host, from }: Asker) => {
    const key = `${host}\n${from}`
    const entry = counts.get(key)
    return { key, entry: entry !== undefined && entry.until > elapsedMs() ? entry : undefined }
  }
  return {
    isTooMany: (asker) => asker.from !== undefined && (find(asker).entry?.vain ?? 0) >= MOST_VAIN,
    count(asker) {
      if (asker.from === undefined) return
      const { key, entry } = find(asker)
      if (entry !== undefined) entry.vain += 1
      else {
        if (counts.size >= MAX_ASKERS) counts.delete(oldestOf(counts))
        counts.delete(key)
        counts.set(key, { vain: 1, until: elapsedMs() + VAIN_WINDOW_MS })
      }
    },
  }
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
/** The most certificates of a chain that are read. */
export const MAX_CHAIN = 6

/** The certificates of a PEM text in their order. Anything else is left out. */
export function readCertificates(pem: string): X509Certificate[] {
  return (pem.match(PEM) ?? []).slice(0, MAX_CHAIN).flatMap((one) => {
    try {
      return [new X509Certificate(one)]
    } catch {
      return []
    }
  })
}

export function isValidAt({ validFrom, validTo }: X509Certificate, now: number): boolean {
  return Date.parse(validFrom) <= now && now <= Date.parse(validTo)
}

export function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}
