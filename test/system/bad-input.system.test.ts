import { randomUUID } from 'node:crypto'
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
  ['BP-07 a timestamp ten minutes old', () => signed({ signedAt: Date.now() - 10 * MINUTE_MS })],
  ['BP-08 a timestamp ten minutes ahead', () => signed({ signedAt: Date.now() + 10 * MINUTE_MS })],
  ['BP-10 no timestamp', () => withHeader(signed(), 'webhook-timestamp', null)],
  ['BP-48 the signature of another provider', () => ({ ...signed(), path: '/api/webhooks/stripe' })],
]

const NO_JSON: readonly Row[] = [
  ['BP-18 nothing', () => signedText('')],
  ['BP-19 no JSON', () => signedText('id=evt_1&type=payment.succeeded')],
  ['BP-20 an array', () => signedText('[]')],
  ['BP-49 a byte-order mark', () => signedText(`\ufeff${JSON.stringify(anEvent())}`)],
  ['a member twice', () => signedText(JSON.stringify(anEvent()).replace('{', '{"id":"evt_first",'))],
  ['JSON nested without end', () => signedText(`${'['.repeat(5_000)}${']'.repeat(5_000)}`)],
]

const OBJECT = { id: 'obj_1' }

const WRONG_TEXTS = [
  ['BP-22', 7.5],
  ['BP-23', { $gt: '' }],
  ['BP-24', ' \t '],
  ['BP-25', 'x'.repeat(256)],
  ['no control characters:', 'a\nb'],
] as const

const NO_EVENT: readonly Row[] = [
  ['BP-21 without id', () => signedEvent({ id: undefined })],
  ['BP-21 without data.object.id', () => signedEvent({ data: { object: {} } })],
  ['BP-26 whose data.object is a text', () => signedEvent({ data: { object: 'obj_1' } })],
  ...WRONG_TEXTS.flatMap(([row, wrong]): Row[] => [
    [`${row} whose id is ${JSON.stringify(wrong).slice(0, 20)}`, () => signedEvent({ id: wrong })],
  ]),
]

const NOT_FOUND: readonly Row[] = [
  ['BP-36 an unknown provider', () => ({ ...signed(), path: '/api/webhooks/nobody' })],
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
  ['BP-25 whose id has 255 bytes', () => signedEvent({ id: randomUUID().padEnd(255, '.') })],
  [
    'BP-28 with members that nobody knows',
    () => signedEvent({ data: { object: { ...OBJECT, more: [1, { $where: '1' }] }, more: 1 } }),
  ],
  ['BP-27 of a type that nobody handles', () => signedEvent({ type: 'moon.full' })],
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
