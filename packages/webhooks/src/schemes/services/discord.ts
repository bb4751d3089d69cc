import { jsonReader } from '../../events/event-reader.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { isObject, type JsonObject, readJsonObject } from '../../events/json-object.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { ed25519Key, findByPublicKey } from '../../signatures/public-key.ts'
import { decodeHex } from '../../signatures/signature.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { defineScheme, type HandshakeAnswer } from '../scheme.ts'

/**
 * Discord (docs.discord.com/developers/interactions/overview and /events/webhook-events): Ed25519 in hexadecimal over
 * timestamp and body without a separator; the secret is the public key of the application. Pings of both kinds are answered
 * and never stored. Events carry no id, so it is made from the body, without the time, which every attempt signs again.
 */
export const discord = defineScheme(
  'discord',
  {},
  {
    ...bodySignature({
      headers: ['x-signature-ed25519'],
      timestampHeader: 'x-signature-timestamp',
      encoding: 'hex',
      findSecret: findByPublicKey(null),
    }),
    readKey(text) {
      const key = ed25519Key(decodeHex(text.toLowerCase()))
      return key === null ? { problem: 'is not a public key of 64 hexadecimal digits' } : { key }
    },
    redelivery: UNDOCUMENTED,
    permits: NO_PAYMENTS,
    prepareHandshake:
      () =>
      ({ rawBody }) =>
        answerPing(readJsonObject(rawBody)),
    prepareReader: jsonReader({}, (body, at, { rawBody }) => {
      if (isObject(body.event)) {
        return {
          id: idOfBytes(rawBody),
          type: at('/event/type'),
          objectId: at('/event/data/id') ?? at('/event/data/user/id') ?? body.application_id,
          occurredAt: at('/event/timestamp'),
        }
      }
      return {
        id: body.id ?? idOfBytes(rawBody),
        type: `interaction.${String(body.type)}`,
        objectId: at('/data/id') ?? body.id,
      }
    }),
  },
)

/** An event has type 1 too, but it has an `event` property. */
function answerPing({ type, event }: JsonObject): HandshakeAnswer | null {
  if (type === 0) return { empty: true }
  return type === 1 && event === undefined ? { json: { type: 1 } } : null
}
