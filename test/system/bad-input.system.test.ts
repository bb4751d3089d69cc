import { createHmac, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { type RawAnswer, type RawRequest, sendRaw } from '../support/http/raw-request.ts'
import { headerOf, type SignedDelivery, signedDelivery, withHeader } from '../support/http/signed-delivery.ts'
import { BODY_CANARY } from '../support/stack/canaries.ts'
import { startStack } from '../support/stack/stack.ts'

const MAX_BYTES = 20_000
const MINUTE_MS = 60_000

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const stack = resources.use(await startStack({ gateway: { MAX_WEBHOOK_BYTES: String(MAX_BYTES) } }))
const { current, previous, expired } = stack.secrets.acme

interface EventMembers {
  readonly id?: unknown
  readonly type?: unknown
  readonly data?: unknown
}

/** A complete event without a handler, with these properties replaced; undefined leaves one out. */
function anEvent(members: EventMembers = {}): object {
  return {
    id: `evt_${randomUUID()}`,
    type: 'invoice.created',
    data: { object: { id: 'obj_1' } },
    memo: BODY_CANARY,
    ...members,
  }
}

function bytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function signed(members: Partial<SignedDelivery> = {}) {
  return signedDelivery({ body: bytes(anEvent()), secret: current, ...members })
}

function signedText(text: string, members: Partial<SignedDelivery> = {}): RawRequest {
  return signed({ body: Buffer.from(text), ...members })
}

function signedEvent(members: EventMembers): RawRequest {
  return signed({ body: bytes(anEvent(members)) })
}

/** A request that is signed by hand, for a timestamp that no signer would use. */
function signedWithTimestamp(timestamp: string): RawRequest {
  const request = signed()
  const key = Buffer.from(current.slice('whsec_'.length), 'base64')
  const mac = createHmac('sha256', key)
    .update(`msg_1.${timestamp}.`)
    .update(request.body ?? '')
  const retimed = withHeader(request, 'webhook-timestamp', timestamp)
  return withHeader(retimed, 'webhook-signature', `v1,${mac.digest('base64')}`)
}

function withSignature(bend: (signature: string) => string): RawRequest {
  const request = signed()
  return withHeader(request, 'webhook-signature', bend(headerOf(request, 'webhook-signature')))
}

function padded(size: number): Buffer {
  const event = JSON.stringify(anEvent())
  return Buffer.from(event.padEnd(size, ' '))
}

type Row = readonly [what: string, request: () => RawRequest]

const NOT_AUTHENTIC: readonly Row[] = [
  ['BP-01 no signature', () => withHeader(signed(), 'webhook-signature', null)],
  ['BP-02 an empty signature', () => withHeader(signed(), 'webhook-signature', '')],
  [
    'BP-03 a signature by another secret',
    () => signed({ secret: `whsec_${Buffer.from(randomUUID()).toString('base64')}` }),
  ],
  [
    'BP-03 a signature by another secret over a body of many pieces',
    () => signed({ secret: `whsec_${Buffer.from(randomUUID()).toString('base64')}`, body: padded(MAX_BYTES) }),
  ],
  ['BP-13 a signature by a secret that has expired', () => signed({ secret: expired })],
  [
    'BP-04 one bit of the body changed',
    () => {
      const signedBody = bytes(anEvent())
      const body = signedBody.map((byte, at) => (at === 10 ? byte ^ 1 : byte))
      return signed({ body, signedBody })
    },
  ],
  [
    'BP-05 a signature over the same JSON, written otherwise',
    () => {
      const event = anEvent()
      return signed({ body: bytes(event), signedBody: Buffer.from(JSON.stringify(event, null, 2)) })
    },
  ],
  ['BP-15 the first half of its signature', () => withSignature((whole) => whole.slice(0, whole.length / 2))],
  ['BP-16 a version with no signature behind it', () => withSignature(() => 'v1,')],
  ['a signature of another version only', () => withSignature((whole) => whole.replace('v1,', 'v1a,'))],
  [
    'a signature in hexadecimal',
    () => withSignature((whole) => `v1,${Buffer.from(whole.slice(3), 'base64').toString('hex')}`),
  ],
  [
    'the signature on two lines',
    () => {
      const request = signed()
      return { ...request, headers: [...request.headers, ['Webhook-Signature', 'v1,x']] }
    },
  ],
  ['BP-07 a timestamp ten minutes old', () => signed({ signedAt: Date.now() - 10 * MINUTE_MS })],
  ['BP-08 a timestamp ten minutes ahead', () => signed({ signedAt: Date.now() + 10 * MINUTE_MS })],
  ['BP-10 no timestamp', () => withHeader(signed(), 'webhook-timestamp', null)],
  ['BP-11 a timestamp that is no number', () => signedWithTimestamp('abc')],
  ['BP-46 a timestamp in milliseconds', () => signedWithTimestamp(String(Date.now()))],
  ['no id', () => withHeader(signed(), 'webhook-id', null)],
  ['an id that was not signed', () => withHeader(signed(), 'webhook-id', 'msg_2')],
  ['BP-48 the signature of another provider', () => ({ ...signed(), path: '/api/webhooks/stripe' })],
  ['a body that is no event either', () => ({ ...signed({ signedBody: Buffer.from('{}') }), body: Buffer.from('[') })],
]

const NO_JSON: readonly Row[] = [
  ['BP-18 nothing', () => signedText('')],
  ['BP-19 no JSON', () => signedText('id=evt_1&type=payment.succeeded')],
  ['JSON that breaks off', () => signedText('{"id":"evt_1","type":')],
  ['BP-20 an array', () => signedText('[]')],
  ['BP-20 a text', () => signedText('"evt_1"')],
  ['BP-20 a number', () => signedText('1')],
  ['BP-20 null', () => signedText('null')],
  ['BP-20 true', () => signedText('true')],
  ['BP-49 a byte-order mark', () => signedText(`\ufeff${JSON.stringify(anEvent())}`)],
  ['BP-49 UTF-16', () => signed({ body: Buffer.from(JSON.stringify(anEvent()), 'utf16le') })],
  ['broken UTF-8', () => signed({ body: Buffer.from(JSON.stringify(anEvent({ id: 'evt_\xff' })), 'latin1') })],
  ['a member twice', () => signedText(JSON.stringify(anEvent()).replace('{', '{"id":"evt_first",'))],
  ['JSON nested without end', () => signedText(`${'['.repeat(5_000)}${']'.repeat(5_000)}`)],
]

const OBJECT = { id: 'obj_1' }

const WRONG_TEXTS = [
  ...[7.5, true, null, []].map((wrong) => ['BP-22', wrong] as const),
  ['BP-23', { $gt: '' }],
  ...['', ' \t '].map((blank) => ['BP-24', blank] as const),
  ...['\u0000', 'a\nb', '\ud800'].map((strange) => ['no control characters, well-formed:', strange] as const),
  ...['x'.repeat(256), '€'.repeat(86)].map((long) => ['BP-25', long] as const),
] as const

const NO_EVENT: readonly Row[] = [
  ['BP-21 without id', () => signedEvent({ id: undefined })],
  ['BP-21 without type', () => signedEvent({ type: undefined })],
  ['BP-21 without data', () => signedEvent({ data: undefined })],
  ['BP-21 without data.object', () => signedEvent({ data: {} })],
  ['BP-21 without data.object.id', () => signedEvent({ data: { object: {} } })],
  ['BP-26 whose data is an array', () => signedEvent({ data: [{ object: OBJECT }] })],
  ['BP-26 whose data.object is an array', () => signedEvent({ data: { object: [OBJECT] } })],
  ['BP-26 whose data.object is a text', () => signedEvent({ data: { object: 'obj_1' } })],
  ...WRONG_TEXTS.flatMap(([row, wrong]): Row[] => [
    [`${row} whose id is ${JSON.stringify(wrong).slice(0, 20)}`, () => signedEvent({ id: wrong })],
    [`${row} whose type is ${JSON.stringify(wrong).slice(0, 20)}`, () => signedEvent({ type: wrong })],
    [
      `${row} whose object id is ${JSON.stringify(wrong).slice(0, 20)}`,
      () => signedEvent({ data: { object: { id: wrong } } }),
    ],
  ]),
]

const NOT_FOUND: readonly Row[] = [
  ['BP-36 an unknown provider', () => ({ ...signed(), path: '/api/webhooks/nobody' })],
  ['no provider', () => ({ ...signed(), path: '/api/webhooks/' })],
  ['a path below a provider', () => ({ ...signed(), path: '/api/webhooks/acme/more' })],
  ['a provider in capitals', () => ({ ...signed(), path: '/api/webhooks/ACME' })],
  ['BP-36 an unknown path', () => ({ ...signed(), path: '/nothing/here' })],
  ['BP-44 the metrics', () => ({ method: 'GET', path: '/metrics' })],
  ['BP-44 the readiness', () => ({ method: 'GET', path: '/readyz' })],
  ['BP-44 the operator API', () => ({ method: 'GET', path: '/operator/overview' })],
  ['BP-44 the internal API', () => ({ method: 'GET', path: '/trpc/orders.list' })],
]

const TOO_LARGE: readonly Row[] = [
  ['BP-30 announced', () => withHeader(signed(), 'content-length', String(MAX_BYTES + 1))],
  ['BP-31 in chunks, not announced', () => ({ ...signed({ body: padded(300_000) }), chunked: true })],
]

const NOT_JSON_TYPE: readonly Row[] = [
  ['BP-33 compressed', () => withHeader(signed({ body: gzipSync(bytes(anEvent())) }), 'content-encoding', 'gzip')],
  ['BP-37 as plain text', () => signed({ contentType: 'text/plain' })],
  ['as a form', () => signed({ contentType: 'application/x-www-form-urlencoded' })],
  ['BP-39 in another charset', () => signed({ contentType: 'application/json; charset=utf-16' })],
]

const GOOD: readonly Row[] = [
  [
    'BP-06 with blanks, other order and escapes',
    () => {
      const id = `evt_${randomUUID()}`
      return signedText(` { "data" : {"object":{"id":"\\u006fbj"}},\n\t"type":"invoice.created", "id":"${id}" } `)
    },
  ],
  ['BP-09 signed 290 seconds ago', () => signed({ signedAt: Date.now() - 290_000 })],
  [
    'BP-12 whose last signature of several is right',
    () => withSignature((right) => `v1,${'A'.repeat(43)}= v1a,xx ${right}`),
  ],
  ['BP-13 signed by the secret that is being replaced', () => signed({ secret: previous })],
  [
    'BP-14 with header names in any case',
    () => {
      const request = signed()
      return { ...request, headers: request.headers.map(([name, value]) => [name.toUpperCase(), value] as const) }
    },
  ],
  [
    'with the svix header names',
    () => {
      const request = signed()
      return {
        ...request,
        headers: request.headers.map(([name, value]) => [name.replace('webhook', 'svix'), value] as const),
      }
    },
  ],
  ['BP-25 whose id has 255 bytes', () => signedEvent({ id: randomUUID().padEnd(255, '.') })],
  [
    'BP-28 with members that nobody knows',
    () => signedEvent({ data: { object: { ...OBJECT, more: [1, { $where: '1' }] }, more: 1 } }),
  ],
  ['BP-27 of a type that nobody handles', () => signedEvent({ type: 'moon.full' })],
  ['BP-38 as JSON in UTF-8', () => signed({ contentType: 'application/json; charset=UTF-8' })],
  ['BP-38 as a +json type', () => signed({ contentType: 'application/vnd.acme.event+json' })],
  ['without a type', () => withHeader(signed(), 'content-type', null)],
  ['BP-32 exactly as large as allowed', () => signed({ body: padded(MAX_BYTES) })],
  ['in chunks', () => ({ ...signed({ body: padded(MAX_BYTES) }), chunked: true })],
]

function send(request: RawRequest): Promise<RawAnswer> {
  return sendRaw(stack.url, request)
}

/** BP-40: sends a request that must be refused, and then a good delivery. Only the good one creates a record. */
async function expectRefusal(request: RawRequest, wanted: { status: number; code: string }): Promise<RawAnswer> {
  const before = await stack.events.countDocuments()
  const answer = await send(request)
  const body = JSON.parse(answer.body) as Record<string, unknown>
  expect({ status: answer.status, code: body.code }).toEqual(wanted)
  expect(body).toEqual({
    error: expect.stringMatching(/^[A-Z].*[^.]$/),
    code: wanted.code,
    requestId: expect.any(String),
  })
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': body.requestId,
  })
  expect(answer.body).not.toMatch(/ at |node_modules|\.ts\b|Error:/)
  expect(await send(signed())).toMatchObject({ status: 200, body: '{"received":true}' })
  expect(await stack.events.countDocuments()).toBe(before + 1)
  return answer
}

describe('a delivery that is not authentic is 401', () => {
  it.each(NOT_AUTHENTIC)('with %s', async (_, request) => {
    await expectRefusal(request(), { status: 401, code: 'signature_invalid' })
  })

  it('BP-17: and every reason gets the very same answer', async () => {
    const answers = await Promise.all(NOT_AUTHENTIC.map(([, request]) => send(request())))
    const shown = answers.map(({ status, headers, body }) => {
      const { 'x-request-id': _, date: __, ...others } = headers
      return JSON.stringify({ status, headers: others, body: { ...JSON.parse(body), requestId: null } })
    })
    expect([...new Set(shown)]).toHaveLength(1)
  })
})

describe('an authentic delivery is 400', () => {
  it.each(NO_JSON)('with %s as its body', async (_, request) => {
    await expectRefusal(request(), { status: 400, code: 'invalid_body' })
  })

  it.each(NO_EVENT)('with an event %s', async (_, request) => {
    await expectRefusal(request(), { status: 400, code: 'event_invalid' })
  })
})

describe('the public listener', () => {
  it.each(NOT_FOUND)('answers 404 for %s', async (_, request) => {
    await expectRefusal(request(), { status: 404, code: 'not_found' })
  })

  it.each(TOO_LARGE)('answers 413 for a body beyond the limit, %s', async (_, request) => {
    const { headers } = await expectRefusal(request(), { status: 413, code: 'payload_too_large' })
    expect(headers.connection).toBe('close')
  })

  it.each(NOT_JSON_TYPE)('answers 415 for a body %s', async (_, request) => {
    await expectRefusal(request(), { status: 415, code: 'unsupported_media_type' })
  })

  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])('BP-34: answers 405 to a %s of a webhook', async (method) => {
    const { headers } = await expectRefusal({ ...signed(), method }, { status: 405, code: 'method_not_allowed' })
    expect(headers.allow).toBe('POST, OPTIONS')
  })
})

describe('an authentic delivery is 200 and stored', () => {
  it.each(GOOD)('%s', async (_, request) => {
    const before = await stack.events.countDocuments()
    const good = request()
    expect(await send(good)).toMatchObject({ status: 200, body: '{"received":true}' })
    const records = await stack.events.find().sort({ _id: 1 }).skip(before).toArray()
    expect(records.map(({ state, raw }) => ({ state, raw: Buffer.from(raw.buffer).toString() }))).toEqual([
      { state: 'unhandled', raw: Buffer.from(good.body ?? '').toString() },
    ])
  })

  it('BP-50: once for an id that arrives with another body: the first one is kept', async () => {
    const event = anEvent()
    const first = bytes(event)
    expect(await send(signed({ body: first }))).toMatchObject({ status: 200 })
    expect(await send(signed({ body: bytes({ ...event, type: 'invoice.paid' }) }))).toMatchObject({ status: 200 })
    const records = await stack.events.find({ eventId: (event as { id: string }).id }).toArray()
    expect(records.map(({ raw }) => Buffer.from(raw.buffer).toString())).toEqual([first.toString()])
  })
})

describe('what was refused', () => {
  it('left no effect: every record is that of a good delivery', async () => {
    expect(await stack.events.countDocuments({ state: { $ne: 'unhandled' } })).toBe(0)
    expect(await stack.orderRecords.countDocuments()).toBe(0)
    expect(await stack.receipts()).toEqual([])
  })
})
