import { jsonReader } from '../../events/event-reader.ts'
import { isEventText } from '../../events/event-text.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import type { JsonObject } from '../../events/json-object.ts'
import { X } from '../../presets/services.ts'
import { hmac, type LiveSecret, lastingSecret } from '../../signatures/signature.ts'
import { presetScheme } from '../preset-scheme.ts'

/**
 * X, once Twitter: no time is signed, and there is no event id, so it is made from the body. Every hour X sends a GET with a
 * `crc_token`, whose HMAC with the consumer secret is the answer.
 */
export const x = presetScheme(X, {
  prepareCheck: (_, secrets) => (query, now) => answerToken(query, lastingSecret(secrets, now)),
  prepareReader: jsonReader({}, (body, at, { rawBody }) => ({
    id: idOfBytes(rawBody),
    type: at('/data/event_type') ?? activityOf(body),
    objectId: body.for_user_id ?? at('/data/filter/user_id') ?? at('/data/id'),
  })),
})

// The token must not look like a body: the answer would be its signature.
const TOKEN = /^[A-Za-z0-9_-]{1,200}$/

function answerToken(query: string, secret: LiveSecret | undefined): { readonly response_token: string } | null {
  const [token, ...more] = new URLSearchParams(query).getAll('crc_token')
  if (secret === undefined || token === undefined || more.length > 0 || !TOKEN.test(token)) return null
  return { response_token: `sha256=${Buffer.from(hmac('sha256', secret.key, [token]), 'latin1').toString('base64')}` }
}

/** The name of the property that holds an activity, such as `tweet_create_events`. */
function activityOf(body: JsonObject): string {
  return Object.keys(body).find((name) => isEventText(name) && /_events?$/.test(name)) ?? 'unknown'
}
