import { eventReader, type FoundInDocument } from '../../events/event-reader.ts'
import { isEventText } from '../../events/event-text.ts'
import { isFormBody, readForm } from '../../events/form-body.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { readJsonObject } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { SLACK } from '../../presets/services.ts'
import { presetScheme } from '../preset-scheme.ts'
import type { HandshakeAnswer } from '../scheme.ts'

/**
 * Slack signs JSON and forms alike; nothing is parsed before. It is not documented how long a regenerated signing secret stays
 * valid, so configure both for a while. `url_verification` and `ssl_check` are answered and never stored.
 */
export const slack = presetScheme(SLACK, {
  takesForms: true,
  prepareHandshake:
    () =>
    ({ rawBody }) =>
      isFormBody(rawBody) ? answerCertificateCheck(rawBody) : answerChallenge(rawBody),
  prepareReader: eventReader({}, ({ rawBody }) => (isFormBody(rawBody) ? findInForm(rawBody) : findInBody(rawBody))),
})

function answerChallenge(rawBody: Buffer): HandshakeAnswer | null {
  // A search in bytes is cheap, and every other delivery is read only once.
  if (!rawBody.includes('url_verification')) return null
  const { type, challenge } = readJsonObject(rawBody)
  if (type !== 'url_verification') return null
  if (!isEventText(challenge)) return null
  return { json: { challenge } }
}

function answerCertificateCheck(rawBody: Buffer): HandshakeAnswer | null {
  if (!rawBody.includes('ssl_check')) return null
  return readForm(rawBody).get('ssl_check') === '1' ? { json: {} } : null
}

function findInBody(rawBody: Buffer): FoundInDocument {
  const body = readJsonObject(rawBody)
  const at = (pointer: string): unknown => resolvePointer(body, pointer)
  const found = {
    id: body.event_id ?? idOfBytes(rawBody),
    type: at('/event/type') ?? body.type,
    objectId: [
      at('/event/channel/id'),
      at('/event/channel'),
      at('/event/user/id'),
      at('/event/user'),
      body.team_id,
    ].find(isEventText),
    occurredAt: body.event_time,
  }
  return { found, document: body }
}

/** A slash command, or the JSON of an interaction in the field `payload`. Forms carry no event id. */
function findInForm(rawBody: Buffer): FoundInDocument {
  const fields = readForm(rawBody)
  const payload = fields.get('payload')
  const id = idOfBytes(rawBody)
  if (payload !== undefined) {
    const document = readJsonObject(Buffer.from(payload))
    return { found: { id, type: document.type, objectId: resolvePointer(document, '/user/id') }, document }
  }
  const type = fields.has('command') ? 'slash_command' : undefined
  return { found: { id, type, objectId: fields.get('user_id') }, document: Object.fromEntries(fields) }
}
