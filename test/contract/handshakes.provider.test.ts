import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { SCHEMES } from '@oncehook/webhooks/providers'
import { afterAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const secret = 'a_secret_that_is_long_enough'
const secrets = [{ id: 'only', value: secret }]
const seconds = 1_760_000_000
const discordKeys = generateKeyPairSync('ed25519')
// The last 32 bytes of an SPKI are the key itself (RFC 8410 section 4).
const discordKey = discordKeys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')
const discord = { scheme: 'discord', secrets: [{ id: 'only', value: discordKey }] }
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(
  await startGateway({
    database,
    providers: {
      slack: { scheme: 'slack', secrets },
      zoom: { scheme: 'zoom', secrets },
      x: { scheme: 'x', secrets },
      meta: { scheme: 'meta', secrets, verifyToken: 'meatyhamhock' },
      discord,
      braintree: {
        scheme: 'braintree',
        secrets: [{ id: '1', value: 'integration_public_key:integration_private_key' }],
      },
    },
    clock: { now: () => seconds * 1_000 },
  }),
)
const events = database.db.collection('events')

function macOf(text: string): Buffer {
  return createHmac('sha256', secret).update(text).digest()
}

interface Sent {
  readonly provider: 'slack' | 'zoom'
  readonly body: string
  readonly type?: string
  readonly signature?: string
}

async function post({ provider, body, type = 'application/json', signature }: Sent) {
  const name =
    provider === 'slack'
      ? ['x-slack-signature', 'x-slack-request-timestamp']
      : ['x-zm-signature', 'x-zm-request-timestamp']
  const signed = signature ?? `v0=${macOf(`v0:${seconds}:${body}`).toString('hex')}`
  const response = await fetch(`${gateway.url}/api/webhooks/${provider}`, {
    method: 'POST',
    headers: { 'content-type': type, [name[0] ?? '']: signed, [name[1] ?? '']: String(seconds) },
    body,
  })
  return { status: response.status, json: await response.json() }
}

const FORM = 'application/x-www-form-urlencoded'
const challenge = JSON.stringify({ token: 'x', challenge: 'c-1', type: 'url_verification' })
const validation = JSON.stringify({ event: 'endpoint.url_validation', payload: { plainToken: 'plain_1' }, event_ts: 1 })

const whoIs = (provider: string) => `The gateway breaks what it owes to the consumer ${provider}: its handshake`

describe('a handshake', () => {
  // That of SNS is confirmed by a call: packages/webhooks/src/schemes/services/sns.test.ts.
  it('is tried of every scheme that has one', () => {
    const asking = [...SCHEMES.values()].filter((scheme) => scheme.prepareHandshake ?? scheme.prepareCheck)
    const tried = ['braintree', 'discord', 'meta', 'slack', 'sns', 'x', 'zoom']
    expect(asking.map(({ name }) => name)).toEqual(tried)
  })

  it('of Meta is answered by GET with its challenge, and only with the token of the settings', async () => {
    // developers.facebook.com/docs/graph-api/webhooks/getting-started
    const check = (token: string) =>
      fetch(`${gateway.url}/api/webhooks/meta?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=${token}`)
    const answer = await check('meatyhamhock')
    expect([answer.status, await answer.text()], whoIs('meta')).toEqual([200, '1158201444'])
    expect((await check('another')).status, whoIs('meta')).not.toBe(200)
  })

  it('of Slack is answered with its challenge', async () => {
    const answer = await post({ provider: 'slack', body: challenge })
    expect(answer, whoIs('slack')).toEqual({ status: 200, json: { challenge: 'c-1' } })
  })

  it('of Zoom is answered with both tokens', async () => {
    const encryptedToken = macOf('plain_1').toString('hex')
    expect(await post({ provider: 'zoom', body: validation }), whoIs('zoom')).toEqual({
      status: 200,
      json: { plainToken: 'plain_1', encryptedToken },
    })
  })

  it('of Discord is answered: a ping of interactions, one of events, and neither where it is forged', async () => {
    const ping = async (type: number, signedType = type) => {
      const body = (of: number): string => JSON.stringify({ version: 1, application_id: '1', type: of })
      const signed = Buffer.from(`${seconds}${body(signedType)}`)
      const signature = sign(null, signed, discordKeys.privateKey).toString('hex')
      return await fetch(`${gateway.url}/api/webhooks/discord`, {
        method: 'POST',
        headers: {
          ...{ 'content-type': 'application/json', 'x-signature-ed25519': signature },
          'x-signature-timestamp': String(seconds),
        },
        body: body(type),
      })
    }
    const interaction = await ping(1)
    expect([interaction.status, await interaction.json()], whoIs('discord')).toEqual([200, { type: 1 }])
    const event = await ping(0)
    expect([event.status, await event.text()], whoIs('discord')).toEqual([204, ''])
    expect((await ping(1, 0)).status, whoIs('discord')).toBe(401)
  })

  it('of X is answered by GET, not to be kept by caches', async () => {
    const response = await fetch(`${gateway.url}/api/webhooks/x?crc_token=t-1`)
    expect([response.status, response.headers.get('cache-control')], whoIs('x')).toEqual([200, 'no-store'])
    expect(await response.json(), whoIs('x')).toEqual({ response_token: `sha256=${macOf('t-1').toString('base64')}` })
  })

  it('of Braintree by GET is answered with text', async () => {
    const query = 'bt_challenge=20f9f8ed05f77439fe955c977e4c8a53'
    const response = await fetch(`${gateway.url}/api/webhooks/braintree?${query}`)
    const type = response.headers.get('content-type')
    expect([response.status, type], whoIs('braintree')).toEqual([200, 'text/plain; charset=utf-8'])
    // By the library of Braintree.
    expect(await response.text(), whoIs('braintree')).toBe(
      'integration_public_key|d9b899556c966b3f06945ec21311865d35df3ce4',
    )
  })

  it.each([
    ['slack', challenge],
    ['zoom', validation],
  ] as const)('of %s that is not authentic is refused like any delivery', async (provider, body) => {
    const signature = `v0=${'0'.repeat(64)}`
    expect(await post({ provider, body, signature }), whoIs(provider)).toMatchObject({
      status: 401,
      json: { code: 'signature_invalid' },
    })
  })

  it('is never stored', async () => {
    await post({ provider: 'slack', body: challenge })
    await post({ provider: 'zoom', body: validation })
    expect(await events.countDocuments({ type: /url_/ })).toBe(0)
  })
})

describe('a form', () => {
  it('that is authentic is kept unread where the provider sends none', async () => {
    const body = 'a=1'
    expect((await post({ provider: 'zoom', body, type: FORM })).status).toBe(200)
    expect(await events.findOne({ provider: 'zoom', type: 'unreadable' })).toMatchObject({ reason: 'unreadable' })
    expect((await post({ provider: 'zoom', body, type: FORM, signature: 'v0=00' })).status).toBe(401)
  })
})
