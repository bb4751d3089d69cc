import { describe, expect, it } from 'vitest'
import { contentOf, readEvent } from './handler-event.ts'

function read(body: unknown) {
  return readEvent('key', Buffer.from(JSON.stringify(body)))
}

describe('contentOf', () => {
  const head = '{"key":"a:1:b","provider":"a","eventId":"1","type":"t","receivedAt":"2026-11-26T10:00:01Z"'
  const contentIn = (text: string) => contentOf(readEvent('key', Buffer.from(text))!)

  it.each([
    ['an object', `${head},"body":{"body":{},"raw":"x"}}`, '"body":{"body":{},"raw":"x"}}'],
    ['a text', `${head},"pointer":"/a","raw":"bm8="}`, '"raw":"bm8="}'],
    ['a value with the name of the body', `${head},"objectId":"\\",\\"body\\":","body":[]}`, '"body":[]}'],
    ['a text of a megabyte', `${head},"objectId":"${'x\\"'.repeat(400_000)}","body":1}`, '"body":1}'],
  ])('is what the gateway has from the provider: %s', (_, text, content) => {
    expect(contentIn(text)).toBe(content)
  })

  it.each([
    ['another sender', '{"type":"t","body":{}}'],
    ['a form that the gateway does not write', `${head},"more":{},"body":{}}`],
    ['spaces', `${head}, "body":{}}`],
    ['no body', `${head}}`],
  ])('is everything otherwise: %s', (_, text) => {
    expect(contentIn(text)).toBe(text)
  })
})

describe('readEvent', () => {
  it("reads what Oncehook's gateway says about an event, and the data of the provider", () => {
    const data = { object: { id: 'sub_1' } }
    const event = {
      ...{ key: 'stripe:evt_1:billing', provider: 'stripe', eventId: 'evt_1', receivedAt: '2026-11-26T10:00:01Z' },
      ...{ type: 'customer.subscription.deleted', objectId: 'sub_1', occurredAt: '2026-11-26T10:00:00Z' },
      body: { id: 'evt_1', type: 'customer.subscription.deleted', created: 1, data },
    }
    expect(read(event)).toMatchObject({ objectId: 'sub_1', occurredAt: new Date('2026-11-26T10:00:00Z'), data })
    const { occurredAt: _, ...withoutTime } = event
    expect(read({ ...withoutTime, objectId: '' })).toMatchObject({ objectId: 'sub_1', occurredAt: new Date(1_000) })
    expect(read({ ...withoutTime, body: undefined, raw: 'YT0x' })).toMatchObject({ data: undefined, occurredAt: null })
  })

  it('reads the event itself from a delivery with several', () => {
    const items = [{ id: 'EV1' }, { id: 'EV2', created_at: '2026-11-26T10:00:00Z' }]
    const event = {
      ...{ key: 'gocardless:EV2:billing', provider: 'gocardless', eventId: 'EV2', receivedAt: '2026-11-26T10:00:01Z' },
      ...{ type: 'mandates.cancelled', objectId: 'MD2', pointer: '/events/1', body: { events: items } },
    }
    expect(read(event)).toMatchObject({ objectId: 'MD2', data: items[1], occurredAt: new Date('2026-11-26T10:00:00Z') })
    expect(read({ ...event, pointer: '/events/2' })).toMatchObject({ data: undefined })
    expect(read({ ...event, pointer: '/1', body: items })).toMatchObject({ data: items[1] })
    expect(read({ ...event, pointer: '/constructor/name', body: items })).toMatchObject({ data: undefined })
  })

  it.each([
    ['{"type":"a","data":{"id":820982911946154508}}', '820982911946154508'],
    ['{"type":"a","data":{"id":"evt_1","object":{"id":9007199254740993}}}', '9007199254740993'],
    ['{"type":"a","data":{"id":-820982911946154508}}', '-820982911946154508'],
    ['{"type":"a","data":{"id":7},"card":1234567890123456}', '7'],
    ['{"type":"a","data":{"id":1.5}}', null],
    ['{"type":"a","data":{"id":820982911946154508,"id":820982911946154508}}', null],
  ])('offers the id of the object beyond 2^53 exactly, and the text: %s', (text, objectId) => {
    expect(readEvent('key', Buffer.from(text))).toMatchObject({ objectId, rawBody: text })
  })

  it.each([['text'], [{ type: '' }], [{}], [[]], [null]])('reads no event from %o', (body) => {
    expect(read(body)).toBeNull()
  })
})
