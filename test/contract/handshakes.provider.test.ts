import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { BOTH_EFFECTS } from '../support/stack/stack-settings.ts'

// Pact can neither sign a query nor send a form that is signed. The requests are written by hand from each provider's
// documentation, with the code of this test only.
const SECRET = 'a-secret-of-a-test-of-contracts-only'
const PUBLIC_URL = 'https://shop.example.com/api/webhooks/twilio'
const SECRETS = { secrets: [{ id: 's1', value: SECRET }] }
const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'
const { publicKey, privateKey } = generateKeyPairSync('ed25519')
// RFC 8410 section 4: the key itself is at the end.
const DISCORD_KEY = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(
  await startGateway({
    database,
    providers: {
      slack: { scheme: 'slack', ...SECRETS },
      discord: { scheme: 'discord', secrets: [{ id: 's1', value: DISCORD_KEY }] },
      zoom: { scheme: 'zoom', ...SECRETS },
      x: { scheme: 'x', ...SECRETS },
      twilio: { scheme: 'twilio', publicUrl: PUBLIC_URL, ...BOTH_EFFECTS, read: { order: '/Order' }, ...SECRETS },
    },
  }),
)

const mac = (algorithm: string, text: string): Buffer => createHmac(algorithm, SECRET).update(text).digest()
const who = (consumer: string): string =>
  `The gateway breaks what it owes to the consumer ${consumer} in a handshake or form`

function signedByTime(headers: readonly [signature: string, time: string], body: string): Record<string, string> {
  const seconds = String(Math.floor(Date.now() / 1_000))
  const signature = `v0=${mac('sha256', `v0:${seconds}:${body}`).toString('hex')}`
  return { 'content-type': JSON_TYPE, [headers[0]]: signature, [headers[1]]: seconds }
}

const signedBySlack = (body: string, type: string) => ({
  ...signedByTime(['x-slack-signature', 'x-slack-request-timestamp'], body),
  'content-type': type,
})

function signedByDiscord(body: string): Record<string, string> {
  const seconds = String(Math.floor(Date.now() / 1_000))
  const signature = sign(null, Buffer.from(`${seconds}${body}`), privateKey).toString('hex')
  return { 'content-type': JSON_TYPE, 'x-signature-ed25519': signature, 'x-signature-timestamp': seconds }
}

async function post(provider: string, headers: Record<string, string>, body: string) {
  const response = await fetch(`${gateway.url}/api/webhooks/${provider}`, { method: 'POST', headers, body })
  const text = await response.text()
  return { status: response.status, json: (text === '' ? null : JSON.parse(text)) as object | null }
}

const eventsOf = (provider: string) => database.db.collection('events').countDocuments({ provider })

describe('the gateway', () => {
  it('answers Slack with its challenge', async () => {
    const body = JSON.stringify({ type: 'url_verification', token: 'x', challenge: 'a-challenge' })
    const headers = signedByTime(['x-slack-signature', 'x-slack-request-timestamp'], body)
    expect(await post('slack', headers, body), who('slack')).toEqual({
      status: 200,
      json: { challenge: 'a-challenge' },
    })
    const forged = await post('slack', { ...headers, 'x-slack-signature': `v0=${'0'.repeat(64)}` }, body)
    expect(forged, who('slack')).toMatchObject({ status: 401, json: { code: 'signature_invalid' } })
  })

  it('answers Slack when it checks the certificate, and keeps nothing of it', async () => {
    const body = 'ssl_check=1&token=x'
    const before = await eventsOf('slack')
    expect(await post('slack', signedBySlack(body, FORM), body), who('slack')).toEqual({ status: 200, json: {} })
    expect(await eventsOf('slack'), who('slack')).toBe(before)
  })

  // Slack shows the user an error unless the answer is 200.
  it.each([
    ['a slash command', 'command=%2Fweather&text=94070&user_id=U1&trigger_id=13.1', FORM],
    ['an interaction', `payload=${encodeURIComponent('{"type":"block_actions","user":{"id":"U1"}}')}`, FORM],
    ['an event', '{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention","user":"U1"}}', JSON_TYPE],
  ])('acknowledges %s of Slack, and no forged one', async (_, body, type) => {
    const headers = signedBySlack(body, type)
    const answer = await post('slack', headers, body)
    expect(answer, who('slack')).toMatchObject({ status: 200, json: { received: true } })
    const forged = await post('slack', { ...headers, 'x-slack-signature': `v0=${'0'.repeat(64)}` }, body)
    expect(forged, who('slack')).toMatchObject({ status: 401, json: { code: 'signature_invalid' } })
  })

  // Before it saves the URL, Discord sends pings of which some are forged.
  it('answers the pings of Discord, and no forged one', async () => {
    const ping = JSON.stringify({ id: '1', application_id: '2', type: 1, version: 1 })
    const ofEvents = JSON.stringify({ version: 1, application_id: '2', type: 0 })
    const headers = signedByDiscord(ping)
    const before = await eventsOf('discord')
    expect(await post('discord', headers, ping), who('discord')).toEqual({ status: 200, json: { type: 1 } })
    const answer = await post('discord', signedByDiscord(ofEvents), ofEvents)
    expect(answer, who('discord')).toEqual({ status: 204, json: null })
    for (const body of [ping, ofEvents]) {
      const forged = await post('discord', { ...signedByDiscord(body), 'x-signature-ed25519': '0'.repeat(128) }, body)
      expect(forged, who('discord')).toMatchObject({ status: 401, json: { code: 'signature_invalid' } })
    }
    expect(await eventsOf('discord'), who('discord')).toBe(before)
  })

  it('acknowledges an event of Discord', async () => {
    const event = { type: 'ENTITLEMENT_CREATE', timestamp: '2026-01-01T10:00:00.000Z', data: { id: '3' } }
    const body = JSON.stringify({ version: 1, application_id: '2', type: 1, event })
    const answer = await post('discord', signedByDiscord(body), body)
    expect(answer, who('discord')).toMatchObject({ status: 200, json: { received: true } })
  })

  it('answers Zoom with both tokens', async () => {
    const body = JSON.stringify({ event: 'endpoint.url_validation', payload: { plainToken: 'plain' }, event_ts: 1 })
    const headers = signedByTime(['x-zm-signature', 'x-zm-request-timestamp'], body)
    const encryptedToken = mac('sha256', 'plain').toString('hex')
    const json = { plainToken: 'plain', encryptedToken }
    expect(await post('zoom', headers, body), who('zoom')).toEqual({ status: 200, json })
  })

  it('answers the challenge of X', async () => {
    const response = await fetch(`${gateway.url}/api/webhooks/x?crc_token=a-token`)
    const json = { response_token: `sha256=${mac('sha256', 'a-token').toString('base64')}` }
    expect([response.status, await response.json()], who('x')).toEqual([200, json])
  })

  it('takes a signed form of Twilio, and no other', async () => {
    const form = { Result: 'success', PaymentConfirmationCode: 'ch_1', CallSid: 'CA1', Order: 'ord_1' }
    const body = String(new URLSearchParams(form))
    const parameters = Object.entries(form).toSorted(([a], [b]) => (a < b ? -1 : 1))
    const signature = mac('sha1', PUBLIC_URL + parameters.flat().join('')).toString('base64')
    const headers = { 'content-type': FORM, 'x-twilio-signature': signature }
    expect(await post('twilio', headers, body), who('twilio')).toMatchObject({ status: 200, json: { received: true } })
    const changed = await post('twilio', headers, body.replace('ord_1', 'ord_2'))
    expect(changed, who('twilio')).toMatchObject({ status: 401, json: { code: 'signature_invalid' } })
    const unsigned = await post('twilio', { 'content-type': FORM }, body)
    expect(unsigned, who('twilio')).toMatchObject({ status: 401, json: { code: 'signature_invalid' } })
  })
})
