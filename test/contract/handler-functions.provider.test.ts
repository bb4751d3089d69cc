import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createHandler,
  type HandlerEvent,
  type HandlerOptions,
  type LaterMessage,
  type LaterTransaction,
  type LogLine,
  Refusal,
} from '@oncehook/handler'
import { postgres } from '@oncehook/handler/postgres'
import { expect, it, vi } from 'vitest'
import { openTestStores } from '../../packages/handler/src/testing/open-test-stores.ts'
import { SECRET, signedHeaders } from '../../packages/handler/src/testing/signed-request.ts'
import { HANDLER } from './sample-task.ts'

const README = readFileSync(join(import.meta.dirname, '../../packages/handler/README.md'), 'utf8')
const who = '@oncehook/handler breaks what it owes to the functions of its users (packages/handler/README.md)'
const { onMongo, each } = await openTestStores(process.env)

type Given = Partial<HandlerOptions<LaterTransaction>>
const handlerOf = (given: Given, store = onMongo.store) =>
  createHandler<LaterTransaction>({
    ...{ name: HANDLER, secrets: SECRET, log: () => undefined, store: store as never, on: {}, ...given },
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

/** What `tx.later` refuses. */
const REFUSED: readonly (readonly [name: string, payload?: unknown])[] = [
  ['unknown'],
  ['thank', () => undefined],
  ['thank', 1n],
  ['thank', 'x'.repeat(262_143)],
]

function thrownBy(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return Object(error).name
  }
}

it.for(each)('gives a function on %s the transaction of its page', async ([name, under], context) => {
  const { store } = under(context)
  const [kept, seen, late] = [[] as LaterTransaction[], [] as unknown[], Promise.withResolvers<void>()]
  const handler = handlerOf(
    {
      ...{ name: 'giver', timeoutMs: 1_000 },
      on: {
        async told(_, tx) {
          kept.push(tx)
          for (const given of REFUSED) seen.push(thrownBy(() => tx.later(...given)))
          tx.later('thank')
          const { query, client, db, session } = Object(tx)
          if (query === undefined)
            return void seen.push(db.databaseName.length > 0 && session.inTransaction(), tx.signal.aborted)
          const text = 'select txid_current() as id, $1::int as n'
          const [own, same] = [await query(text, [7]), await client.query(text, [7])]
          seen.push(own.rows[0].n === 7 && own.rows[0].id === same.rows[0].id, tx.signal.aborted)
        },
        slow: (_, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => resolve(late.resolve()))
          }),
      },
      later: { thank: () => undefined },
    },
    store as never,
  )
  const { status } = await handler.fetch(signed(randomUUID(), '{"type":"told"}'))
  await handler.fetch(signed(randomUUID(), '{"type":"slow"}'))
  seen.push(await Promise.race([late.promise.then(() => 'aborted'), handler.close().then(() => 'not aborted')]))
  await handler.close()
  const whose = `${who}, on ${name}`
  expect([status, ...seen], `${whose}: tx.later, query, client, db, session, signal`).toEqual([
    200,
    ...REFUSED.map(() => 'TypeError'),
    ...[true, false, 'aborted'],
  ])
  expect(
    thrownBy(() => kept[0]?.later('thank')),
    `${whose}: tx.later after its end`,
  ).toBe('Error')
  const asked = Object(kept[0]).query?.('select 1') ?? Promise.reject(new Error('It has none'))
  await expect(asked, `${whose}: tx.query after its end`).rejects.toThrow(Error)
})

it.for(each)('sends a message on %s again, with its key, and ends what hangs', async ([name, under], context) => {
  const { store } = under(context)
  const [sent, hangs] = [[] as Partial<LaterMessage>[], Promise.withResolvers<void>()]
  const [aborted, lines] = [[] as unknown[], [] as LogLine[]]
  const thank = ({ signal, ...message }: LaterMessage) => {
    sent.push(message)
    if (message.attempt === 3) hangs.resolve()
    const ended = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => ended.reject(aborted.push(signal.reason.message)))
    return message.attempt === 2 ? Promise.reject(new Error('No mail')) : ended.promise
  }
  const on = { told: (_: unknown, tx: LaterTransaction) => tx.later('thank') }
  const laterLimits = { timeoutMs: 500, retryBaseMs: 1, retryCapMs: 1, pollMs: 10 }
  const log = (line: LogLine): void => void lines.push(line)
  const handler = handlerOf({ name: 'again', on, later: { thank }, laterLimits, log }, store as never)
  handler.work()
  handler.work()
  const key = randomUUID()
  await handler.fetch(signed(key, '{"type":"told"}'))
  await hangs.promise
  await handler.close(1)
  await handler.close(1)
  const message = { key: `again:${key}:1`, payload: null }
  expect(sent, `${who}: the attempts of a message on ${name}`).toMatchObject(
    [1, 2, 3].map((attempt) => ({ ...message, attempt })),
  )
  expect(
    new Set(aborted),
    `${who}: the signal of a message on ${name}, when its time is over and at close`,
  ).toHaveProperty('size', 2)
  const line = { level: 'warn', name: 'thank', key: message.key, attempt: 2, error: new Error('No mail') }
  expect(lines, `${who}: the log of a message on ${name}`).toContainEqual(expect.objectContaining(line))
})

/** What the log says, by the type of an event. */
const LOGGED: Readonly<Record<string, Partial<LogLine>>> = {
  failing: { level: 'error', error: new Error('It fails') },
  refusing: { level: 'info', error: new Refusal('later', 'Not yet') },
  unknown: { level: 'warn' },
}

it('tells its log, or standard error, what its page says', async () => {
  const operators = '@oncehook/handler breaks what it owes to those who read its log (packages/handler/README.md)'
  const on = {
    failing: () => Promise.reject(new Error('It fails')),
    refusing: () => Promise.reject(new Refusal('later', 'Not yet')),
  }
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const lines: LogLine[] = []
  const failing = (line: LogLine): never => {
    lines.push(line)
    throw new Error('It cannot be written')
  }
  for (const [type, line] of Object.entries(LOGGED)) {
    for (const log of [failing, undefined]) {
      const handler = handlerOf({ on, log: log as never })
      await handler.fetch(signed(type, JSON.stringify({ type })))
      await handler.close()
    }
    expect(lines.at(-1), `${operators}: ${type}`).toMatchObject({ type, key: type, ...line })
  }
  const written = write.mock.calls.map(([text]) => String(text)).filter((text) => text.startsWith('{"level"'))
  write.mockRestore()
  const errors = written.map((text) => JSON.parse(text))
  expect(errors, `${operators}: standard error`).toMatchObject([
    { level: 'error', type: 'failing', error: expect.stringContaining('It fails') },
  ])
})

const read = async () => {
  const request = signed('read', '{}')
  await request.text()
  return handlerOf({}).fetch(request)
}
const WRONG = { name: 'a b', path: 'in', on: { 'a*b': () => undefined }, laterLimits: { attempts: 0 }, waitMs: 0.5 }
const nothing = {} as never

/** What is thrown for what a program does wrong, with what its problems name. */
const THROWN: Readonly<Record<string, readonly [does: () => unknown, name: string, problems?: readonly string[]]>> = {
  'wrong options': [
    () => handlerOf({ ...WRONG, trpc: { publicKeys: 'none' } }),
    ...([
      'HandlerSettingsError',
      ['name', 'path', 'a*b', 'waitMs', 'laterLimits.attempts', 'trpc.publicKeys'],
    ] as const),
  ],
  'a secret that is none': [() => handlerOf({ secrets: 'none' }), 'HandlerSettingsError', ['secret']],
  'no secrets': [() => handlerOf({ secrets: [], trpc: undefined as never }), 'HandlerSettingsError', ['secrets']],
  'no isolation': [() => postgres(nothing, { isolation: 'no' as never }), 'HandlerSettingsError', ['isolation']],
  'no advice': [() => new Refusal('soon' as never, ''), 'RangeError'],
  'no seconds': [() => new Refusal('later', '', { afterSeconds: 0.5 }), 'RangeError'],
  'a body that was read': [read, 'TypeError'],
}

it.each(Object.entries(THROWN))('throws for %s what its page says', async (what, [does, name, problems]) => {
  const failure = Object(await (async () => does())().catch((error: unknown) => error))
  const named = problems && { problems: problems.map((one) => expect.stringContaining(one)) }
  expect(failure, `${who}: ${what}`).toMatchObject({ name, ...named })
})
