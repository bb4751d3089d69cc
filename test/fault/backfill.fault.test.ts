import { randomUUID } from 'node:crypto'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { Binary } from 'mongodb'
import { expect, it } from 'vitest'
import { type AnsweringHandler, startAnsweringHandler } from '../support/handler/answering-handler.ts'
import { callOperator } from '../support/stack/operator-call.ts'
import type { EventRecord } from '../support/stack/records.ts'
import { type Stack, startStack } from '../support/stack/stack.ts'
import { until, untilEqual } from '../support/until.ts'

const EVENTS = Number(process.env.BACKFILL_EVENTS || 1_000)
const RATE = Math.max(300, Math.ceil(EVENTS / 60))
const WITHIN_MS = 60_000 + EVENTS * 20
const WANTED = { events: [{ provider: 'acme', types: ['of.no.*'] }] }
const AT_ONCE = 1_000

it(`FP-45: a backfill of ${EVENTS} events is counted first, keeps to its rate, continues after a crash, and ends when it is cancelled`, {
  timeout: 60_000 + 3 * WITHIN_MS,
}, async () => {
  await using first = await startAnsweringHandler()
  await using second = await startAnsweringHandler()
  const settings = { first: { ...first.settings, ...WANTED }, second: { ...second.settings, ...WANTED } }
  await using stack = await startStack({ gateway: { HANDLERS: JSON.stringify(settings) } })
  const past = await storePast(stack)
  const begin = (handler: string, more: object) =>
    callOperator(stack, 'handlers.backfill', { handler, reason: 'a test', ...more }) as Promise<Begun>

  expect(await begin('first', { dryRun: true })).toEqual({ replayId: null, matched: EVENTS })
  expect(await stack.events.countDocuments()).toBe(EVENTS)
  const beganAt = performance.now()
  const { replayId } = await begin('first', { ratePerSecond: RATE })
  await until(
    () => first.calls.size,
    (calls) => calls > EVENTS / 3,
    WITHIN_MS,
  )
  await stack.gateway.kill('SIGKILL')
  await stack.gateway.restart()
  await until(
    () => progressOf(stack, replayId),
    ({ state }) => state === 'finished',
    WITHIN_MS,
  )
  // The last slice may begin a second early.
  expect(performance.now() - beganAt).toBeGreaterThan((EVENTS / RATE - 1) * 1_000)
  await untilDone(stack, 'first', first)
  // Not before: a task that changes its state during the count may escape it.
  expect(await progressOf(stack, replayId)).toMatchObject({ started: EVENTS, done: EVENTS })
  expect([...first.calls.keys()].toSorted()).toEqual(past.map((id) => `acme:${id}:first`).toSorted())

  const { replayId: cancelled } = await begin('second', { ratePerSecond: 20 })
  await until(
    () => second.calls.size,
    (calls) => calls > 0,
  )
  await callOperator(stack, 'replays.cancel', { replayId: cancelled })
  await until(
    () => progressOf(stack, cancelled),
    ({ state }) => state === 'cancelled',
  )
  await untilEqual(() => stack.events.countDocuments({ handler: 'second', state: { $ne: 'done' } }), 0)
  expect(await stack.events.countDocuments({ handler: 'second' })).toBeLessThan(EVENTS)
  await begin('second', {})
  await untilDone(stack, 'second', second)
  // Its tasks are one for each event, although part of the events had one before.
  expect([second.calls.size, new Set(second.calls.values())]).toEqual([EVENTS, new Set([1])])
})

interface Begun {
  readonly replayId: string
  readonly matched: number
}

interface Progress {
  readonly state: string
  readonly started: number
}

/** Stores events of the past that no handler wanted, and returns their ids. */
async function storePast({ events }: Stack): Promise<string[]> {
  const ids = Array.from({ length: EVENTS }, () => randomUUID())
  for (let from = 0; from < EVENTS; from += AT_ONCE) {
    const records = ids.slice(from, from + AT_ONCE).map((eventId) => {
      const raw = new Binary(Buffer.from(JSON.stringify({ id: eventId, type: 'of.no.effect' })))
      return sampleRecord({ eventId, raw, state: 'unhandled', reason: 'type_unhandled' })
    })
    await events.insertMany(records as unknown as EventRecord[])
  }
  return ids
}

function progressOf(stack: Stack, replayId: string): Promise<Progress> {
  const input = encodeURIComponent(JSON.stringify({ replayId }))
  return callOperator(stack, `replays.get?input=${input}`, undefined) as Promise<Progress>
}

/** Looks at the database only when every task was called: it counts all records. */
async function untilDone({ events }: Stack, handler: string, { calls }: AnsweringHandler): Promise<void> {
  await until(
    () => calls.size,
    (called) => called === EVENTS,
    WITHIN_MS,
  )
  await until(
    () => events.countDocuments({ handler, state: 'done' }),
    (done) => done === EVENTS,
    WITHIN_MS,
  )
}
