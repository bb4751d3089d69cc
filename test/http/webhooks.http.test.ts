import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import type { HttpAnswer } from '../support/http/http-answer.ts'
import { callTogether, makeOrder } from '../support/http/http-orders.ts'
import { startHttpSystem, WEBHOOK } from '../support/http/http-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startHttpSystem({ gateway: { MAX_WEBHOOK_BYTES: '100000' } }))
const { call, deliver, delivery, events } = system

/** An event without a handler, with these properties replaced. */
function anEvent(members: object = {}): { id: string; type: string; data: { object: { id: string } } } {
  return { id: `evt_${randomUUID()}`, type: 'customer.created', data: { object: { id: 'cus_1' } }, ...members }
}

const RECEIVED = { status: 200, json: { received: true } }

/** A refusal without its id. All refusals of a signature look the same. */
function likeness({ status, headers, json }: HttpAnswer) {
  const { date: _d, 'x-request-id': _x, ...lasting } = headers
  return { status, lasting, error: json.error, code: json.code }
}

/** Sends a request that is refused, and checks that it left no trace. */
async function expectNoTrace(refuse: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
  const before = await events.countDocuments()
  const answer = await refuse()
  expect(await events.countDocuments()).toBe(before)
  return answer
}

describe('the webhook receiver', () => {
  it('F01 accepts a signed event and stores one record', async () => {
    const event = anEvent()
    expect(await deliver(event)).toMatchObject(RECEIVED)
    const [record, ...more] = await events.find({ eventId: event.id }).toArray()
    expect(more).toEqual([])
    expect(record).toMatchObject({
      provider: 'acme',
      eventId: event.id,
      type: event.type,
      receivedAt: expect.any(Date),
    })
  })

  it('F02 refuses a signature with one character changed', async () => {
    const { headers, ...rest } = delivery(anEvent())
    const [, mac = ''] = String(headers?.['webhook-signature']).split(',')
    for (const changed of [
      `${mac.startsWith('A') ? 'B' : 'A'}${mac.slice(1)}`,
      mac.toLowerCase(),
      mac.slice(0, -1),
      `${mac}A`,
    ]) {
      const forged = { ...rest, headers: { ...headers, 'webhook-signature': `v1,${changed}` } }
      const answer = await expectNoTrace(() => call(forged))
      expect(answer).toMatchObject({
        status: 401,
        json: { code: 'signature_invalid' },
        headers: { 'www-authenticate': 'Signature realm="webhooks"' },
      })
    }
  })

  it('F03 all faults of a signature look the same', async () => {
    const { headers, ...rest } = delivery(anEvent())
    const forged = likeness(await call({ ...rest, headers: { ...headers, 'webhook-signature': 'v1,AAAA' } }))
    const at = (seconds: number) => ({ 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) + seconds) })
    const signature = String(headers?.['webhook-signature'])
    const faults: Record<string, string | string[] | undefined>[] = [
      { 'webhook-signature': undefined },
      { 'webhook-signature': '' },
      { 'webhook-signature': 'v2,x' },
      { 'webhook-signature': [signature, signature] },
      { 'webhook-timestamp': undefined },
      { 'webhook-timestamp': 'now' },
      { 'webhook-timestamp': '1e9' },
      { 'webhook-id': undefined },
      { 'webhook-id': 'another' },
      { 'webhook-id': [String(headers?.['webhook-id']), 'x'] },
      at(-301),
      at(301),
      at(-1),
    ]
    for (const fault of faults) {
      const answer = await expectNoTrace(() => call({ ...rest, headers: { ...headers, ...fault } }))
      expect(likeness(answer)).toEqual(forged)
    }
  })

  it.each(['', 'x', '{', '{"id":', '[1', '{"id":"a",}', "{'id':'a'}", 'NaN', '\ufeff{}', '{}{}'])(
    'F05 refuses what is signed and no JSON: %j',
    async (body) => {
      expect(await expectNoTrace(() => deliver(body))).toMatchObject({ status: 400, json: { code: 'invalid_body' } })
    },
  )

  const noText: unknown[] = [
    undefined,
    null,
    '',
    ' \t',
    7.5,
    true,
    {},
    [],
    'x'.repeat(256),
    '\u0000',
    'a\u0007',
    '\ud800',
  ]
  const shapes = noText.flatMap((value) => [
    anEvent({ id: value }),
    anEvent({ type: value }),
    anEvent({ data: { object: { id: value } } }),
    ...(typeof value === 'object' ? [anEvent({ data: value }), anEvent({ data: { object: value } })] : []),
  ])

  it('F06 refuses signed bodies that are not events', async () => {
    for (const shape of shapes) {
      const answer = await expectNoTrace(() => deliver(JSON.stringify(shape)))
      expect(answer, JSON.stringify(shape)).toMatchObject({ status: 400, json: { code: 'event_invalid' } })
    }
  })

  it('F07 looks at the signature first', async () => {
    for (const body of ['{', '', 'null', '\xff']) {
      const answer = await call({ method: 'POST', target: WEBHOOK, principal: null, body: Buffer.from(body, 'latin1') })
      expect(answer.status).toBe(401)
    }
  })

  it('F08 accepts the same event three times and processes it once', async () => {
    const event = anEvent()
    for (let n = 0; n < 3; n += 1) expect(await deliver(event)).toMatchObject(RECEIVED)
    expect(await events.countDocuments({ eventId: event.id })).toBe(1)
  })

  it('F09 accepts the same event twenty times at once, with one effect', { repeats: 2 }, async () => {
    const { id, target } = await makeOrder(system)
    const object = { id: `pay_${id}`, orderId: id, amount: 300, currency: 'EUR' }
    const event = anEvent({ type: 'payment.succeeded', data: { object } })
    const answers = await callTogether(system, 20, () => delivery(event))
    for (const answer of answers) expect(answer).toMatchObject(RECEIVED)
    expect(await events.countDocuments({ eventId: event.id })).toBe(1)
    await expect.poll(async () => (await call({ target })).json.status).toBe('paid')
    expect((await call({ target })).json).toMatchObject({ version: 2, access: 'unlocked' })
  })

  it('F11 checks the bytes as they came', async () => {
    const id = randomUUID()
    const odd = ` {"id" : "evt_\\u0061${id}"\r\n,"type":"a\\/b","data":{"object":{"id":"x"} } }\t`
    expect(await deliver(odd)).toMatchObject(RECEIVED)
    expect(await events.findOne({ eventId: `evt_a${id}` })).toMatchObject({ type: 'a/b' })
  })

  it.each([
    ['a byte that is no UTF-8', Buffer.from([0xff])],
    ['a surrogate in UTF-8', Buffer.from([0xed, 0xa0, 0x80])],
    ['an overlong form', Buffer.from([0xc0, 0xaf])],
    ['a broken character', Buffer.from([0xe2, 0x82])],
  ])('F12 refuses %s', async (_, octets) => {
    const [head = '', tail = ''] = JSON.stringify(anEvent({ memo: '!' })).split('!')
    const body = Buffer.concat([Buffer.from(head), octets, Buffer.from(tail)])
    expect((await expectNoTrace(() => deliver(body))).status).toBe(400)
  })

  it.each([
    ['{', '{"id":"evt_other",'],
    ['{', '{"\\u0069d":"evt_other",'],
    ['"object":{', '"object":{"id":"x",'],
    ['{', '{"a":{"b":1,"b":1},'],
  ])('F13 refuses a property that occurs twice, wherever it is: %s becomes %s', async (once, twice) => {
    const body = JSON.stringify(anEvent()).replace(once, twice)
    expect(await expectNoTrace(() => deliver(body))).toMatchObject({ status: 400, json: { code: 'invalid_body' } })
  })

  it.each([
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;charset="UTF-8"',
    'application/vnd.acme+json',
  ])('F18 accepts Content-Type: %s', async (type) => {
    expect(await deliver(anEvent(), { 'content-type': type })).toMatchObject(RECEIVED)
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    'application/jsonp',
    '',
    ';',
    'json',
  ])('F19 refuses Content-Type: %j, after the signature', async (type) => {
    const answer = await expectNoTrace(() => deliver(anEvent(), { 'content-type': type }))
    expect(answer).toMatchObject({ status: 415, headers: { accept: 'application/json' } })
    const forged = { 'content-type': type, 'webhook-signature': 'v1,AAAA' }
    expect((await deliver(anEvent(), forged)).status).toBe(401)
  })

  it('F20 accepts an event without a Content-Type', async () => {
    expect(await deliver(anEvent(), { 'content-type': undefined })).toMatchObject(RECEIVED)
  })

  it('F21 refuses a body above the limit, signed or not', async () => {
    const event = (size: number) => JSON.stringify(anEvent()).padEnd(size)
    expect(await deliver(event(100_000))).toMatchObject(RECEIVED)
    const answer = await expectNoTrace(() => deliver(event(100_001)))
    expect(answer).toMatchObject({ status: 413, json: { code: 'payload_too_large' }, headers: { connection: 'close' } })
  })

  it('F22 refuses a body above the limit without an announced length', async () => {
    const size = (100_001).toString(16)
    const chunked = { 'transfer-encoding': 'chunked', 'content-length': undefined }
    const body = `${size}\r\n${'x'.repeat(100_001)}\r\n0\r\n\r\n`
    expect((await expectNoTrace(() => call({ method: 'POST', target: WEBHOOK, headers: chunked, body }))).status).toBe(
      413,
    )
  })

  it('F23 accepts an event in chunks', async () => {
    const { headers, body, ...rest } = delivery(anEvent())
    const octets = body as Buffer
    const chunks = [octets.subarray(0, 10), octets.subarray(10)].map(
      (part) => `${part.length.toString(16)};ext=1\r\n${part}\r\n`,
    )
    const chunked = { ...headers, 'transfer-encoding': 'Chunked', 'content-length': undefined }
    expect(
      await call({ ...rest, headers: chunked, body: `${chunks.join('')}0\r\nx-trailer: 1\r\n\r\n` }),
    ).toMatchObject(RECEIVED)
  })

  it.each(['null', '[]', '"x"', '1', '', 'true'])('F24 refuses the signed body %j', async (body) => {
    expect((await expectNoTrace(() => deliver(body))).status).toBe(400)
  })

  it('F25 refuses an encoded body before it is read', async () => {
    for (const coding of ['gzip', 'br', 'deflate', 'gzip, identity']) {
      const answer = await expectNoTrace(() => deliver(anEvent(), { 'content-encoding': coding }))
      expect(answer).toMatchObject({ status: 415, headers: { 'accept-encoding': 'identity' } })
    }
    expect(await deliver(anEvent(), { 'content-encoding': 'Identity' })).toMatchObject(RECEIVED)
  })

  it('F26 stores an event of an unknown type, without an effect', async () => {
    const event = anEvent({ type: 'never.heard.of' })
    expect(await deliver(event)).toMatchObject(RECEIVED)
    expect(await events.findOne({ eventId: event.id })).toMatchObject({ state: 'unhandled' })
    expect(system.lines).toContainEqual(expect.objectContaining({ msg: 'event.unhandled', eventId: event.id }))
  })

  it('F27 pays no attention to Accept, to conditions and to keys', async () => {
    const headers = { accept: 'text/html', 'if-match': 'x', 'if-none-match': '*', 'idempotency-key': '""' }
    expect(await deliver(anEvent(), headers)).toMatchObject(RECEIVED)
  })

  it('F28 refuses a nesting that would break its readers', async () => {
    const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
    const event = JSON.stringify(anEvent({ memo: '!' }))
    for (const levels of [600, 40_000]) {
      expect((await expectNoTrace(() => deliver(event.replace('"!"', deep(levels))))).status).toBe(400)
    }
  })
})
