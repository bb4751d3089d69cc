import { verify } from 'node:crypto'
import { singleHeader } from '../../delivery.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { isObject, type JsonObject, readStrictObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import { ed25519Key, findKeyHolder } from '../../signatures/public-key.ts'
import { decodeHex, isWithinTolerance } from '../../signatures/signature.ts'
import { idOfBytes } from '../../signatures/signed-body.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { type CheckSignature, defineScheme, type Finding, type HandshakeAnswer } from '../scheme.ts'

/**
 * Discord (docs.discord.com/developers/interactions/overview and /events/webhook-events): Ed25519 in hexadecimal over
 * timestamp and body without a separator; the secret is the public key of the application. Pings of both kinds are answered
 * and never stored. Events carry no id, so it is made from the body, without the time, which every attempt signs again.
 */
export const discord = defineScheme(
  'discord',
  {},
  {
    readKey(text) {
      const key = ed25519Key(decodeHex(text.toLowerCase()))
      return key === null ? { problem: 'is not the 64 hexadecimal digits of a public key' } : { key }
    },
    signedHeaders: () => ['x-signature-ed25519', 'x-signature-timestamp'],
    redelivery: UNDOCUMENTED,
    permits: NO_PAYMENTS,
    signsTime: () => true,
    prepare({ toleranceSeconds }, secrets): CheckSignature {
      return ({ rawHeaders, rawBody }, now): Finding => {
        const value = singleHeader(rawHeaders, 'x-signature-ed25519')
        const timestamp = singleHeader(rawHeaders, 'x-signature-timestamp')
        if (value === null || timestamp === null) return { refused: 'header_missing' }
        if (!isWithinTolerance(timestamp, toleranceSeconds, now)) return { refused: 'timestamp_outside_window' }
        const signature = decodeHex(value)
        if (signature === null) return { refused: 'header_malformed' }
        const text = Buffer.concat([Buffer.from(timestamp), rawBody])
        const secretId = findKeyHolder(secrets, [signature], {
          now,
          isSignedBy: (key, candidate) => verify(null, text, key, candidate),
        })
        return secretId === null ? { refused: 'signature_mismatch' } : { secretId }
      }
    },
    prepareHandshake:
      () =>
      ({ rawBody }) =>
        answerPing(readStrictObject(rawBody, true)),
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const body = readStrictObject(rawBody, true)
        const at = (pointer: string): unknown => resolvePointer(body, pointer)
        const isEvent = isObject(body.event)
        const found = {
          id: isEvent ? idOfBytes(rawBody) : (body.id ?? idOfBytes(rawBody)),
          type: isEvent ? at('/event/type') : `interaction.${String(body.type)}`,
          objectId: isEvent
            ? (at('/event/data/id') ?? at('/event/data/user/id') ?? body.application_id)
            : (at('/data/id') ?? body.id),
          occurredAt: at('/event/timestamp'),
        }
        return [toEvent(found, { ...settings, types: {}, document: body })]
      },
  },
)

/** An event has type 1 too, but it has an `event` property. */
function answerPing({ type, event }: JsonObject): HandshakeAnswer | null {
  if (type === 0) return { empty: true }
  return type === 1 && event === undefined ? { json: { type: 1 } } : null
}
