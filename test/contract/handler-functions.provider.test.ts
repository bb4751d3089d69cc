import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHandler, type HandlerEvent, type HandlerOptions, type LaterTransaction } from '@oncehook/handler'
import { expect, it } from 'vitest'
import { openTestStores } from '../../packages/handler/src/testing/open-test-stores.ts'
import { SECRET, signedHeaders } from '../../packages/handler/src/testing/signed-request.ts'
import { HANDLER } from './sample-task.ts'

const README = readFileSync(join(import.meta.dirname, '../../packages/handler/README.md'), 'utf8')
const who = '@oncehook/handler breaks what it owes to the functions of its users (packages/handler/README.md)'
const { onMongo } = await openTestStores(process.env)

type Given = Partial<HandlerOptions<LaterTransaction>>
const handlerOf = (given: Given) =>
  createHandler<LaterTransaction>({
    ...{ name: HANDLER, secrets: SECRET, log: () => undefined, store: onMongo.store, on: {}, ...given },
  })

function signed(key: string, body: string, more: Readonly<Record<string, string>> = {}): Request {
  const headers = { ...signedHeaders(key, body), ...more }
  return new Request('http://handler.test/webhooks', { method: 'POST', headers, body })
}

const AT = '2026-01-01T10:00:00Z'
const SECONDS = Date.parse(AT) / 1_000
const TIMES = [`"${AT}"`, `"${SECONDS}"`, ...['', '000', '000000', '000000000'].map((zeros) => `${SECONDS}${zeros}`)]
const MANY = `"provider":"acme","eventId":"e","receivedAt":"${AT}","pointer":"/items/1","body":{"items":[{},{"id":"i"}]}`

/** What a function gets of the members of a body. */
const HANDED: readonly (readonly [members: string, parts: Partial<HandlerEvent>])[] = [
  ...['timestamp', 'created_at', 'created'].flatMap((name) =>
    TIMES.map((time) => [`"${name}":${time}`, { objectId: null, occurredAt: new Date(AT) }] as const),
  ),
  ['"data":{"object":{"id":"sub_1"}}', { objectId: 'sub_1', occurredAt: null }],
  ['"data":{"id":12345678901234567890}', { objectId: '12345678901234567890' }],
  [MANY, { objectId: 'i', data: { id: 'i' } }],
]

it.each(HANDED)('hands an event with %s over, and its message, as its page says', async (members, parts) => {
  const [events, messages] = [[] as unknown[], [] as unknown[]]
  const handler = handlerOf({
    on: {
      told(event, tx) {
        events.push(event)
        tx.later('thank', { to: event.objectId })
      },
    },
    later: { thank: (message) => void messages.push(message) },
  })
  handler.work()
  const key = randomUUID()
  const rawBody = `{"key":"${key}","type":"told",${members}}`
  const { status } = await handler.fetch(signed(key, rawBody))
  // One that goes on would take the messages of the next.
  await expect
    .poll(() => messages.length, { message: who })
    .toBe(1)
    .finally(() => handler.close())
  expect(status, who).toBe(200)
  const event = { key, type: 'told', body: JSON.parse(rawBody), rawBody, ...parts }
  expect(events, who).toMatchObject([event])
  const message = { key: `${HANDLER}:${key}:1`, payload: { to: parts.objectId }, attempt: 1 }
  expect(messages, `${who}: the message of tx.later`).toMatchObject([message])
})

it('counts under the names, labels and values of its page', async () => {
  const who = '@oncehook/handler breaks what it owes to dashboards (packages/handler/README.md)'
  const sent = Promise.withResolvers<void>()
  const handler = handlerOf({
    on: { told: (_, tx) => tx.later('thank') },
    later: { thank: () => sent.resolve() },
  })
  handler.work()
  await handler.fetch(signed(randomUUID(), '{"type":"told"}'))
  await handler.fetch(signed(randomUUID(), '{"type":"told"}', { 'webhook-signature': 'v1,AAAA' }))
  await sent.promise
  await handler.close()
  const text = await handler.metrics()
  const rows = Array.from(README.matchAll(/^\| `(oncehook\w+)`(.*?) \| (counter|histogram|gauge) \|/gm))
  const families = rows.flatMap(([, name = '', others = '', kind]) => [
    `${name} ${kind}`,
    ...Array.from(others.matchAll(/`(\w+)`/g), ([, end]) => `${name.replace(/_waiting$/, '')}${end} ${kind}`),
  ])
  const typed = Array.from(text.matchAll(/^# TYPE (.+)$/gm), ([, one]) => one)
  expect(families, `${who}: its table`).not.toEqual([])
  const missing = families.filter((one) => !typed.includes(one))
  expect(missing, `${who}: the names and types that are missing`).toEqual([])
  const counted = Array.from(text.matchAll(/^(\w+_total)\{(.*)\} 1$/gm), ([, name, labels = '']) => {
    return [
      name,
      Object.fromEntries(Array.from(labels.matchAll(/(\w+)="(.*?)"/g), ([, label, value]) => [label, value])),
    ]
  })
  const gauges = Object.fromEntries(
    Array.from(text.matchAll(/^oncehook_handler_(\w+)\{handler="\w+"\} (\d+)$/gm), ([, ...one]) => one),
  )
  const stored = {
    in_flight: '0',
    event_seconds_count: '1',
    messages_waiting: '0',
    messages_dead: '0',
    messages_oldest_seconds: '0',
  }
  expect(gauges, `${who}: the gauges after one event`).toMatchObject(stored)
  const told = Array.from(README.matchAll(/^\| `(\w+_total)` \| counter \| (.*) by (.*?)(:.*)? \|$/gm))
  for (const [, name, , labels = '', values] of told) {
    const { handler: whose, ...had } = Object(Object.fromEntries(counted)[String(name)])
    const names = Array.from(labels.matchAll(/\w+(?=`)/g), ([label]) => label)
    expect([whose, ...Object.keys(had)].toSorted(), `${who}: the labels of ${name}`).toEqual(
      [HANDLER, ...names].toSorted(),
    )
    if (values !== undefined) expect(values, `${who}: the result of ${name}`).toContain(`\`${had.result}\``)
  }
})
