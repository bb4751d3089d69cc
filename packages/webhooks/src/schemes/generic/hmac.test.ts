import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createVerifier, type VerifierOptions } from '../../create-verifier.ts'
import { makeProvider } from '../../testing/make-provider.ts'

const KEY = '9f8e7d6c5b4a39281706f5e4d3c2b1a0ffeeddcc'
const BODY = '{"id":"e1","type":"a.b","data":{"object":{"id":"1"}}}'
const NOW = 1_760_000_000_000
const SECONDS = '1760000000'
const MS = '1760000000123'
const ISO = '2025-10-09T08:53:20Z'
const URL = 'https://shop.example/hooks'

type Encoding = 'hex' | 'base64' | 'base64url'
type Options = Partial<Extract<VerifierOptions, { scheme: 'hmac' }>>
type Headers = Readonly<Record<string, string>>

function mac(text: string, encoding: Encoding = 'hex', algorithm = 'sha256', key: string | Buffer = KEY): string {
  return createHmac(algorithm, key).update(text).digest(encoding)
}

async function verify(options: Options, headers: Headers, { body = BODY, query = '' } = {}): Promise<string> {
  const verifier = createVerifier(
    { scheme: 'hmac', header: 'x-sig', secrets: KEY, effects: [], ...options },
    { now: () => NOW },
  )
  const result = await verifier.verify({ rawBody: body, headers, url: `/hooks${query}` })
  return result.outcome === 'refused' ? result.reason : result.outcome
}

/** In which of the header of the signature and that of the time something stands. */
const timed = (signature: string, time: string): Headers => ({ 'x-sig': signature, 'x-ts': time })
const list: Options = { separator: ',', timestampPrefix: 't=', prefix: 'v1=' }
const base64: Options = { encoding: 'base64' }
const withQuery: Options = { signedText: 'POST{url}{query}{body}', publicUrl: URL }

describe('a sender’s signature is accepted', () => {
  it.each<[situation: string, options: Options, headers: Headers]>([
    ['by SHA-384 in base64', { ...base64, algorithm: 'sha384' }, { 'x-sig': mac(BODY, 'base64', 'sha384') }],
    ['in base64 without padding', base64, { 'x-sig': mac(BODY, 'base64').replaceAll('=', '') }],
    ['in base64url', base64, { 'x-sig': mac(BODY, 'base64url') }],
    [
      'with a time in ISO 8601 right before the body',
      { ...base64, timestampHeader: 'x-ts', signedText: '{timestamp}{body}' },
      timed(mac(ISO + BODY, 'base64'), ISO),
    ],
    [
      'with a time in ISO 8601 right behind the body',
      { timestampHeader: 'x-ts', signedText: '{body}{timestamp}' },
      timed(mac(`${BODY}2025-10-09T01:53:20-07:00`), '2025-10-09T01:53:20-07:00'),
    ],
    ['in a list with blanks behind the commas', list, { 'x-sig': `t=${MS}, v1=${mac(`${MS}.${BODY}`)}, v0=00` }],
    [
      'in a list whose first item is the time',
      { separator: ',', timestampPrefix: '' },
      { 'x-sig': `${MS},${'0'.repeat(64)},${mac(`${MS}.${BODY}`)}` },
    ],
    [
      'in a list with blanks',
      { ...base64, separator: ' ', prefix: 'v1,' },
      { 'x-sig': `v1,AAAA v1a,x v1,${mac(BODY, 'base64')}` },
    ],
    [
      'over the body and the URL',
      { ...base64, algorithm: 'sha1', signedText: '{body}{url}', publicUrl: URL },
      { 'x-sig': mac(BODY + URL, 'base64', 'sha1') },
    ],
  ])('%s', async (_, options, headers) => {
    expect(await verify(options, headers)).toBe('verified')
  })

  it.each([
    ['hex', Buffer.from(KEY, 'hex').toString('hex').toUpperCase()],
    ['base64', Buffer.from(KEY, 'hex').toString('base64').replaceAll('=', '')],
    ['base64', Buffer.from(KEY, 'hex').toString('base64url')],
  ] as const)('with a key in %s: %s', async (secretEncoding, secrets) => {
    const signature = mac(BODY, 'hex', 'sha256', Buffer.from(KEY, 'hex'))
    expect(await verify({ secretEncoding, secrets }, { 'x-sig': signature })).toBe('verified')
  })

  it.each(['?a=1&b=%20x', ''])('over the method, the URL and the query %j', async (query) => {
    const headers = { 'x-sig': mac(`POST${URL}${query}${BODY}`) }
    expect(await verify(withQuery, headers, { query })).toBe('verified')
    expect(await verify(withQuery, headers, { query: '?a=2' })).toBe('signature_mismatch')
  })
})

/** Twitch EventSub (dev.twitch.tv/docs/eventsub/handling-webhook-events): id, time and body without anything between. */
const TWITCH: Options = {
  ...{ header: 'twitch-eventsub-message-signature', prefix: 'sha256=', signedText: '{id}{timestamp}{body}' },
  ...{ idHeader: 'twitch-eventsub-message-id', timestampHeader: 'twitch-eventsub-message-timestamp' },
  read: { type: '/subscription/type', object: '/subscription/id' },
}
const FOLLOW = '{"subscription":{"id":"f1c2","type":"channel.follow"},"event":{"user_id":"12"}}'

function twitchHeaders(id: string, time: string, signed = id + time + FOLLOW): Headers {
  return {
    'twitch-eventsub-message-id': id,
    'twitch-eventsub-message-timestamp': time,
    'twitch-eventsub-message-signature': `sha256=${mac(signed)}`,
  }
}

describe('an id in a signed header', () => {
  it('is the id of the event', async () => {
    const verifier = createVerifier(
      { scheme: 'hmac', secrets: KEY, effects: [], header: '', ...TWITCH },
      { now: () => NOW },
    )
    const id = 'e76c6bd4-55c9-4987-8304-da1588d8988b'
    const headers = twitchHeaders(id, '2025-10-09T08:53:20.634234626Z')
    expect(await verifier.verify({ rawBody: FOLLOW, headers })).toMatchObject({
      outcome: 'verified',
      events: [{ id, type: 'channel.follow', objectId: 'f1c2' }],
    })
  })

  it.each<[situation: string, options: Options, headers: Headers, reason: string]>([
    ['is missing', TWITCH, { ...twitchHeaders('e1', ISO), 'twitch-eventsub-message-id': '' }, 'header_malformed'],
    ['is another', TWITCH, { ...twitchHeaders('e1', ISO), 'twitch-eventsub-message-id': 'e2' }, 'signature_mismatch'],
    ['has other characters', TWITCH, twitchHeaders('e.1', ISO), 'header_malformed'],
    ['has digits that could be those of the time', TWITCH, twitchHeaders('e1', SECONDS), 'signature_mismatch'],
    [
      'has characters that could be those of the body',
      { ...TWITCH, signedText: '{timestamp}.{id}{body}' },
      twitchHeaders('e1', ISO, `${ISO}.e1${FOLLOW}`.replace('e1{', 'e1x{')),
      'signature_mismatch',
    ],
  ])('that %s is refused', async (_, options, headers, reason) => {
    const body = headers['twitch-eventsub-message-id'] === 'e1' && options !== TWITCH ? `x${FOLLOW}` : FOLLOW
    expect(await verify(options, headers, { body })).toBe(reason)
  })

  it('is accepted beside a time in seconds with a full stop between', async () => {
    const signedText = '{id}.{timestamp}.{body}'
    const headers = twitchHeaders('e1', SECONDS, `e1.${SECONDS}.${FOLLOW}`)
    expect(await verify({ ...TWITCH, signedText }, headers, { body: FOLLOW })).toBe('verified')
  })

  it.each([
    [{ ...TWITCH, signedText: '{timestamp}{body}' }, 'idHeader is set, signedText leaves {id} out'],
    [{ signedText: '{id}.{body}' }, 'signedText names an id, idHeader is missing'],
    [{ ...TWITCH, signedText: '{id}.{timestamp}.{query}.{body}' }, 'signedText cannot have both {id} and {query}'],
  ])('needs settings that fit: %j', async (options, problem) => {
    await expect(verify(options as Options, {})).rejects.toThrow(problem)
  })
})

describe('a signature is refused', () => {
  it.each<[situation: string, options: Options, headers: Headers, reason: string]>([
    [
      'in hexadecimal of mixed case',
      {},
      { 'x-sig': mac(BODY).replace(/[a-f]/, (one) => one.toUpperCase()) },
      'header_malformed',
    ],
    [
      'behind more signatures than are checked',
      list,
      { 'x-sig': `t=${SECONDS}${',v1=00'.repeat(8)},v1=${mac(`${SECONDS}.${BODY}`)}` },
      'signature_mismatch',
    ],
    [
      'with a time in milliseconds that is too old',
      { timestampHeader: 'x-ts' },
      timed(mac(`1759999699999.${BODY}`), '1759999699999'),
      'timestamp_outside_window',
    ],
    [
      'with a time in ISO 8601 that is ahead',
      { timestampHeader: 'x-ts' },
      timed(mac(`2025-10-09T08:58:21Z.${BODY}`), '2025-10-09T08:58:21Z'),
      'timestamp_outside_window',
    ],
  ])('%s', async (_, options, headers, reason) => {
    expect(await verify(options, headers)).toBe(reason)
  })

  it('if its time could be split between the time and the body', async () => {
    const before: Options = { timestampHeader: 'x-ts', signedText: '{timestamp}{body}' }
    const body = `123${BODY}`
    expect(await verify(before, timed(mac(SECONDS + body), SECONDS), { body })).toBe('signature_mismatch')
    // The last ten digits of this time in milliseconds are a time in seconds.
    const now = 1_761_761_761_761
    const behind = { scheme: 'hmac', header: 'x-sig', timestampHeader: 'x-ts', signedText: '{body}{timestamp}' }
    const provider = makeProvider({ settings: behind, secrets: [{ value: KEY }] })
    const rawHeaders = ['x-sig', mac(BODY + String(now)), 'x-ts', String(now).slice(3)]
    const rawBody = Buffer.from(`${BODY}176`)
    expect(await provider.verify({ rawBody, rawHeaders, query: '' }, now, fetch)).toEqual({
      refused: 'signature_mismatch',
    })
  })

  it('if its query could be split between the query and the body', async () => {
    const inner = '{"id":"e1","list":["{",":1,"]}'
    const headers = { 'x-sig': mac(`POST${URL}?a=1${inner}`) }
    expect(await verify(withQuery, headers, { query: '?a=1', body: inner })).not.toBe('signature_mismatch')
    const at = inner.indexOf('{', 1)
    const moved = { query: `?a=1${inner.slice(0, at)}`, body: inner.slice(at) }
    expect(await verify(withQuery, headers, moved)).toBe('signature_mismatch')
    expect(await verify(withQuery, headers, { query: '', body: `?a=1${inner}` })).toBe('signature_mismatch')
  })
})

describe('the query', () => {
  it.each([
    ['{body}', false],
    ['{query}{body}', true],
  ])('is stored only if it is signed: %s', (signedText, usesQuery) => {
    const settings = { scheme: 'hmac', header: 'x-sig', signedText }
    expect(makeProvider({ settings, secrets: [{ value: KEY }] }).usesQuery).toBe(usesQuery)
  })
})
