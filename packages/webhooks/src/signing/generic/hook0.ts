import { createHmac } from 'node:crypto'
import { readJson } from '../json-body.ts'
import { toUuid } from '../made-ids.ts'
import { plainTypes, writePlainEvent } from '../payment-event.ts'
import {
  type HeaderLine,
  readTextSetting,
  type Signer,
  SigningError,
  type SigningRequest,
  toSeconds,
} from '../signer.ts'

/**
 * Hook0 (documentation.hook0.com, "Webhook authentication"): HMAC-SHA256 in hexadecimal over time and body (`v0`), or over
 * time, the names of headers, their values and the body (`v1`). The default of the setting `version` is `v1`.
 */
export const hook0: Signer = {
  types: plainTypes,
  settings: ['version'],
  writeEvent: writePlainEvent,
  sign(request) {
    const version = readTextSetting(request.settings, 'version') ?? 'v1'
    if (version !== 'v0' && version !== 'v1') throw new SigningError('The setting version must be one of v0, v1')
    const { type } = readJson(request.body)
    const headers: HeaderLine[] = [
      ['x-event-id', toUuid(request.eventId ?? 'simulated')],
      ['x-event-type', typeof type === 'string' ? type : 'simulated'],
    ]
    return [...headers, ['x-hook0-signature', sign(request, version === 'v1' ? headers : [])]]
  },
}

function sign({ body, secret, now }: SigningRequest, covered: readonly HeaderLine[]): string {
  const time = toSeconds(now)
  const mac = createHmac('sha256', secret).update(`${time}.`)
  if (covered.length === 0) return `t=${time},v0=${mac.update(body).digest('hex')}`
  const names = covered.map(([name]) => name).join(' ')
  mac.update(`${names}.${covered.map(([, value]) => value).join('.')}.`)
  return `t=${time},h=${names},v1=${mac.update(body).digest('hex')}`
}
