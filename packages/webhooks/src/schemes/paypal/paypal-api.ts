import { readCapped } from '@oncehook/kernel/http/client'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import { isObject, type JsonObject } from '../../events/json-object.ts'
import { type FetchSettings, readFromApi } from '../../provider-api/provider-api.ts'

/**
 * Reads an event from PayPal; null if it knows no event with this id. Rejects with `overloaded` if it is
 * asked too much, and with `unavailable` for everything else.
 */
type ReadPaypalEvent = (id: string, fetch: typeof globalThis.fetch) => Promise<JsonObject | null>

const TIMEOUT_MS = 5_000
const MAX_BYTES = 65_536
// A token is replaced before it expires.
const MARGIN_MS = 60_000

interface AccessToken {
  readonly text: Promise<string>
  /** Used until this value of `performance.now()`. */
  until: number
}

/**
 * Creates the reader of events (GET /v1/notifications/webhooks-events/<id>). The token of the settings is the client id of
 * the REST app, a colon and its secret. The reader signs in with them (OAuth 2.0, POST /v1/oauth2/token), uses the access
 * token until it expires, and gets another one if PayPal refuses it earlier.
 */
export function createPaypalApi(settings: FetchSettings): ReadPaypalEvent {
  let token: AccessToken | null = null

  /** Callers that come while a token is requested share the answer. */
  function signIn(fetch: typeof globalThis.fetch): AccessToken {
    if (token !== null && token.until > performance.now()) return token
    const granted = requestToken(settings, fetch)
    const asked: AccessToken = { text: granted.then(({ text }) => text), until: Number.POSITIVE_INFINITY }
    granted.then(
      ({ until }) => {
        asked.until = until
      },
      () => {
        if (token === asked) token = null
      },
    )
    token = asked
    return asked
  }

  async function readBy(granted: AccessToken, id: string, fetch: typeof globalThis.fetch): Promise<JsonObject | null> {
    const text = await granted.text
    const tokenHeader = () => ({ Authorization: `Bearer ${text}` })
    const path = ['v1', 'notifications', 'webhooks-events', id]
    return await readFromApi(settings, { path, tokenHeader }, fetch)
  }

  return async (id, fetch) => {
    const used = signIn(fetch)
    try {
      return await readBy(used, id, fetch)
    } catch (error) {
      if (!unavailable.is(error) || error.details.providerStatus !== 401) throw error
      // Another caller may have replaced it: only the refused token is dropped.
      if (token === used) token = null
      return await readBy(signIn(fetch), id, fetch)
    }
  }
}

interface Granted {
  readonly text: string
  /** As of an access token. */
  readonly until: number
}

async function requestToken({ baseUrl, token }: FetchSettings, fetch: typeof globalThis.fetch): Promise<Granted> {
  const startedAt = performance.now()
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/v1/oauth2/token`, {
      method: 'POST',
      headers: {
        Accept: 'application/json',
        Authorization: `Basic ${Buffer.from(token).toString('base64')}`,
        'Content-Type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const body = await readCapped(response, MAX_BYTES)
    // Not as `providerStatus`: another token would not help.
    if (response.status !== 200)
      throw unavailable({ reason: 'provider_refused_credentials', tokenStatus: response.status })
    const answer = parseStrictJson(body, { maxDepth: 16, bigIntegers: true })
    const { access_token: text, expires_in: seconds } = isObject(answer) ? answer : {}
    if (typeof text !== 'string' || !/^[\x21-\x7e]+$/.test(text) || typeof seconds !== 'number')
      throw unavailable({ reason: 'provider_answer_unreadable' })
    return { text, until: startedAt + Math.max(0, seconds * 1_000 - MARGIN_MS) }
  } catch (error) {
    if (unavailable.is(error)) throw error
    throw unavailable({ reason: 'provider_not_reached' }, { cause: error })
  }
}
