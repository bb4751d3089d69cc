import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { demandOneMessage } from './verify-messages.ts'

const SECRETS = ['the secret of this test, 32 byte', 'its next secret, also of 32 byte'].map(
  (text) => `whsec_${Buffer.from(text).toString('base64')}`,
)
const BODY = '{"key":"rcpt_1"}'
const NOW = new Date()
const sign = (secrets: readonly string[]) => secrets.map((one) => new Webhook(one).sign('rcpt_1', NOW, BODY)).join(' ')
const HEADERS = { 'webhook-id': 'rcpt_1', 'webhook-timestamp': String(Math.floor(NOW.getTime() / 1_000)) }
const SIGNED = { ...HEADERS, 'webhook-signature': sign(SECRETS) }

it.each([
  ['its own keys', {}, BODY, undefined],
  ['no signature', { 'webhook-signature': '' }, BODY, /1 signatures, but 2/],
  [
    'one of two signatures',
    { 'webhook-signature': sign(SECRETS.slice(1)) },
    BODY,
    /1 signatures, but 2 secrets are valid/,
  ],
  [
    'one signature twice',
    { 'webhook-signature': sign([SECRETS[0], SECRETS[0]] as string[]) },
    BODY,
    /refuses with secret 2/,
  ],
  ['another body', {}, `${BODY} `, /refuses with secret 1/],
  [
    'another key in the body',
    { 'idempotency-key': 'rcpt_2' },
    BODY,
    /idempotency-key: rcpt_2, but the key in the body is rcpt_1/,
  ],
  ['a compressed body', { 'content-encoding': 'gzip' }, BODY, /a body in gzip/],
])('a message with %s', (_, more, body, problem) => {
  const headers = new Headers({ ...SIGNED, ...more })
  const demand = (): void => demandOneMessage('The receiver', SECRETS, { body, headers })
  if (problem === undefined) expect(demand).not.toThrow()
  else expect(demand).toThrow(problem)
})
