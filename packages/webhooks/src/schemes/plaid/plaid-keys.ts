import type { KeyObject } from 'node:crypto'
import { readCapped } from '@oncehook/kernel/http/client'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { monotonicMs } from '@oncehook/kernel/time/clock'
import { isObject, type JsonObject } from '../../events/json-object.ts'
import { readUnproved } from '../../events/unproved-object.ts'
import { createVainQuestions, KEY_ASKED_IN_VAIN } from '../../signatures/certificate-finder.ts'
import { publicKeyOf } from '../../signatures/public-key.ts'

export interface PlaidKey {
  readonly id: string
  readonly key: KeyObject
  /** When it ended, in milliseconds since 1970; null: it is in use. */
  readonly expiredAt: number | null
}

/** Whose question it is: the account, and the address of the sender, which is absent for a stored delivery. */
interface Lookup {
  readonly host: string
  /** The client id, a colon and the secret. */
  readonly credentials: string
  readonly from: string | undefined
  readonly fetch: typeof globalThis.fetch
}

/** The key with an id; null if Plaid has none. Rejects with `unavailable` if Plaid cannot be asked now. */
type FindPlaidKey = (id: string, lookup: Lookup) => Promise<PlaidKey | null>

const MAX_KEPT = 16
const MAX_FETCHING = 4
const MAX_BYTES = 65_536
const TIMEOUT_MS = 3_000
// Plaid says when a key has ended only to those who ask again.
const KEPT_MS = 3_600_000

/**
 * Creates the finder of Plaid's keys (POST /webhook_verification_key/get): over https, without redirects, within 3 s and 64 KiB, 4 at
 * once. It keeps 16 keys for an hour each. An address that has asked for no key three times waits. `elapsedMs` measures waits on a
 * clock that is never set back.
 */
export function createPlaidKeyFinder(elapsedMs: () => number = monotonicMs): FindPlaidKey {
  const kept = new Map<string, { readonly found: PlaidKey; readonly until: number }>()
  const fetching = new Map<string, Promise<PlaidKey | null>>()
  const vain = createVainQuestions(elapsedMs)

  async function ask(id: string, lookup: Lookup): Promise<PlaidKey | null> {
    const until = elapsedMs() + KEPT_MS
    const answer = await fetchKey(id, lookup)
    const found = answer === null ? null : readPlaidKey(answer)
    kept.delete(id)
    if (found?.id !== id) return null
    if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value ?? '')
    kept.set(id, { found, until })
    return found
  }

  return (id, lookup) => {
    const known = kept.get(id)
    if (known !== undefined && known.until > elapsedMs()) return Promise.resolve(known.found)
    const under = fetching.get(id)
    if (under !== undefined) return under
    // A key that Plaid has named before is counted by itself: questions for other keys do not keep it waiting.
    const asker = { host: known === undefined ? lookup.host : id, from: lookup.from }
    if (vain.isTooMany(asker)) return refuse(KEY_ASKED_IN_VAIN)
    if (known === undefined && fetching.size >= MAX_FETCHING) return refuse('keys_busy')
    const started = ask(id, lookup).finally(() => fetching.delete(id))
    started.then(
      (found) => found === null && vain.count(asker),
      () => vain.count(asker),
    )
    fetching.set(id, started)
    return started
  }
}

function refuse(reason: string): Promise<never> {
  return Promise.reject(unavailable({ reason }))
}

async function fetchKey(id: string, { host, credentials, fetch }: Lookup): Promise<JsonObject | null> {
  const colon = credentials.indexOf(':')
  const [client, secret] = [credentials.slice(0, colon), credentials.slice(colon + 1)]
  try {
    const response = await fetch(`https://${host}/webhook_verification_key/get`, {
      method: 'POST',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
      body: JSON.stringify({ client_id: client, secret, key_id: id }),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const answer = readUnproved(await readCapped(response, MAX_BYTES))
    const { status } = response
    // As in the tests of Plaid's library. Any other refusal says nothing about the key.
    if (status === 400 && answer?.error_code === 'INVALID_WEBHOOK_VERIFICATION_KEY_ID') return null
    if (answer?.error_code === 'INVALID_API_KEYS') throw unavailable({ reason: 'provider_refused_credentials' })
    if (status !== 200) throw unavailable({ reason: 'key_not_fetched', providerStatus: status })
    return isObject(answer?.key) ? answer.key : null
  } catch (error) {
    throw unavailable.is(error) ? error : unavailable({ reason: 'key_not_fetched' }, { cause: error })
  }
}

/** Reads a key as Plaid answers it (JWK); null if it is none on P-256. */
export function readPlaidKey({ kid, kty, crv, alg, x, y, expired_at: end }: JsonObject): PlaidKey | null {
  const isOther = kty !== 'EC' || crv !== 'P-256' || (alg !== undefined && alg !== 'ES256')
  const isEnd = end === undefined || end === null || typeof end === 'number'
  if (isOther || !isEnd || typeof kid !== 'string' || typeof x !== 'string' || typeof y !== 'string') return null
  const key = publicKeyOf({ format: 'jwk', key: { kty, crv, x, y } })
  return key && { id: kid, key, expiredAt: typeof end === 'number' ? end * 1_000 : null }
}
