import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createVerifier, type Verification } from '../../create-verifier.ts'
import { createPlaidKeyFinder } from './plaid-keys.ts'

const NOW = 1_760_000_000_000
const SECRET = 'client_0123456789:secret_0123456789'
const BODY = '{"webhook_type":"TRANSACTIONS","webhook_code":"SYNC_UPDATES_AVAILABLE","item_id":"item_1"}'
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const jwk = { ...publicKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', created_at: 1, expired_at: null }

interface Token {
  readonly kid?: string
  readonly at?: number
  readonly body?: string
  readonly key?: KeyObject
}

function tokenOf({ kid = 'key_1', at = NOW, body = BODY, key = privateKey }: Token = {}): string {
  const hash = createHash('sha256').update(body).digest('hex')
  const parts = [
    { alg: 'ES256', kid, typ: 'JWT' },
    { iat: at / 1_000, request_body_sha256: hash },
  ]
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

interface Question {
  readonly url: string
  readonly body: unknown
}

/** A verifier whose network answers with `answer`, and what it asked. */
function verifier(answer: (question: Question) => Response | Promise<Response>, options: object = {}) {
  const asked: Question[] = []
  const fetch = async (url: unknown, { body }: { body: string }) => {
    const question = { url: String(url), body: JSON.parse(body) }
    asked.push(question)
    return await answer(question)
  }
  const made = createVerifier(
    { scheme: 'plaid', secrets: SECRET, ...options },
    { now: () => NOW, fetch: fetch as unknown as typeof globalThis.fetch },
  )
  const verify = async (token: string, from?: string): Promise<Verification> =>
    await made.verify({
      rawBody: BODY,
      headers: { 'plaid-verification': token },
      ...(from === undefined ? {} : { from }),
    })
  return { verify, asked }
}

const keyOf = (changes: object = {}): Response => Response.json({ key: { ...jwk, kid: 'key_1', ...changes } })
const unknownKey = (): Response => Response.json({ error_code: 'INVALID_WEBHOOK_VERIFICATION_KEY_ID' }, { status: 400 })

describe('a notification of Plaid', () => {
  it('is verified with the key that it names, which is asked for once', async () => {
    const { verify, asked } = verifier(() => keyOf())
    expect(await verify(tokenOf())).toMatchObject({ outcome: 'verified', events: [{ objectId: 'item_1' }] })
    expect(await verify(tokenOf())).toMatchObject({ outcome: 'verified' })
    expect(asked).toEqual([
      {
        url: 'https://production.plaid.com/webhook_verification_key/get',
        body: { client_id: 'client_0123456789', secret: 'secret_0123456789', key_id: 'key_1' },
      },
    ])
  })

  it('of the sandbox is verified with a key of the sandbox', async () => {
    const { verify, asked } = verifier(() => keyOf(), { sandbox: true })
    expect(await verify(tokenOf())).toMatchObject({ outcome: 'verified' })
    expect(asked[0]?.url).toBe('https://sandbox.plaid.com/webhook_verification_key/get')
  })

  it('with the bytes of an earlier one is another event, and the same token is the same event', async () => {
    const { verify } = verifier(() => keyOf())
    const idOf = async (token: string): Promise<unknown> => {
      const result = await verify(token)
      return result.outcome === 'verified' ? result.events[0]?.id : result
    }
    const first = tokenOf()
    expect(await idOf(first)).toBe(await idOf(first))
    // Signed anew, the text is the same.
    expect(await idOf(first)).toBe(await idOf(tokenOf()))
    expect(await idOf(tokenOf({ at: NOW - 1_000 }))).not.toBe(await idOf(first))
  })

  it.each([
    ['is about another body', tokenOf({ body: '{}' })],
    ['is too old', tokenOf({ at: NOW - 301_000 })],
    ['is no token', 'x'],
    ['names a key by a path', tokenOf({ kid: '../key_1' })],
  ])('is refused without a question to anybody if it %s', async (_, token) => {
    const { verify, asked } = verifier(() => keyOf())
    expect(await verify(token)).toMatchObject({ outcome: 'refused' })
    expect(asked).toEqual([])
  })

  it.each([
    ['is not known', unknownKey],
    ['has ended', () => keyOf({ expired_at: NOW / 1_000 })],
    ['has another id', () => keyOf({ kid: 'key_2' })],
    ['is for another algorithm', () => keyOf({ alg: 'ES384' })],
    ['is no point', () => keyOf({ x: 'AA' })],
    ['is missing in the answer', () => Response.json({})],
  ])('is refused if its key %s', async (_, answer) => {
    const { verify } = verifier(answer)
    expect(await verify(tokenOf())).toMatchObject({ outcome: 'refused', reason: 'signature_mismatch' })
  })

  it('is refused if another key has signed it', async () => {
    const { verify } = verifier(() => keyOf())
    const { privateKey: other } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    expect(await verify(tokenOf({ key: other }))).toMatchObject({ reason: 'signature_mismatch' })
  })

  it.each([
    ['Plaid has an error', () => new Response('', { status: 500 })],
    ['Plaid refuses the secret', () => Response.json({ error_code: 'INVALID_API_KEYS' }, { status: 400 })],
    ['Plaid sends elsewhere', () => new Response('', { status: 302, headers: { Location: 'https://evil.example' } })],
    ['the network fails', () => Promise.reject(new Error('no network'))],
  ])('is undecided if %s', async (_, answer) => {
    const { verify } = verifier(answer)
    expect(await verify(tokenOf())).toMatchObject({ outcome: 'undecided' })
  })

  it('asks for an address no more that has named three keys that do not exist', async () => {
    const { verify, asked } = verifier(({ body }) => (JSON.stringify(body).includes('key_1') ? keyOf() : unknownKey()))
    for (const kid of ['a', 'b', 'c', 'd', 'e']) await verify(tokenOf({ kid }), '192.0.2.1')
    expect(asked).toHaveLength(3)
    expect(await verify(tokenOf(), '192.0.2.2')).toMatchObject({ outcome: 'verified' })
  })

  it('needs the client id and the secret, and keys that are keys', () => {
    expect(() => createVerifier({ scheme: 'plaid', secrets: 'only_the_secret_0123456789' })).toThrow('client id')
    const keys = [{ kid: 'key_1', x: 'AA', y: 'AA' }]
    expect(() => createVerifier({ scheme: 'plaid', secrets: SECRET, keys })).toThrow('keys must be JWKs')
  })
})

describe('the keys of Plaid', () => {
  const lookup = (fetch: unknown, from?: string) => ({
    ...{ host: 'production.plaid.com', credentials: SECRET, from },
    fetch: fetch as typeof globalThis.fetch,
  })

  it('are asked for again after an hour, so that one that has ended counts no longer', async () => {
    let elapsed = 0
    let ended: number | null = null
    const find = createPlaidKeyFinder(() => elapsed)
    const fetch = async () => keyOf({ expired_at: ended })
    expect(await find('key_1', lookup(fetch))).toMatchObject({ expiredAt: null })
    ended = 1_760_000_000
    expect(await find('key_1', lookup(fetch))).toMatchObject({ expiredAt: null })
    elapsed = 3_600_000
    expect(await find('key_1', lookup(fetch))).toMatchObject({ expiredAt: NOW })
  })

  it('that cannot be asked for again are not asked for by every forged token', async () => {
    let elapsed = 0
    const find = createPlaidKeyFinder(() => elapsed)
    await find(
      'key_1',
      lookup(async () => keyOf()),
    )
    elapsed = 3_600_000
    let asked = 0
    const failing = async () => {
      asked += 1
      return new Response('', { status: 429 })
    }
    for (let at = 0; at < 9; at += 1) await find('key_1', lookup(failing, '192.0.2.1')).catch(() => undefined)
    expect(asked).toBe(3)
    expect(
      await find(
        'key_1',
        lookup(async () => keyOf(), '192.0.2.2'),
      ),
    ).toMatchObject({ id: 'key_1' })
  })

  it('that have counted before are asked for again, though their sender has named others in vain', async () => {
    let elapsed = 0
    const find = createPlaidKeyFinder(() => elapsed)
    const fetch = async (_: unknown, { body }: { body: string }) => (body.includes('key_1') ? keyOf() : unknownKey())
    await find('key_1', lookup(fetch, '192.0.2.1'))
    elapsed = 3_600_000
    for (const id of ['a', 'b', 'c']) await find(id, lookup(fetch, '192.0.2.1'))
    await expect(find('d', lookup(fetch, '192.0.2.1'))).rejects.toBeDefined()
    expect(await find('key_1', lookup(fetch, '192.0.2.1'))).toMatchObject({ id: 'key_1' })
  })
})
