import { readFileSync } from 'node:fs'
import { gatewaySchema } from '@oncehook/gateway/start/settings'
import { ObjectId } from 'mongodb'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { type TaskEvent, writeTaskEvent } from '../../../gateway/src/handlers/task-event.ts'
import { createHandler, type Handler } from '../create-handler.ts'
import { SECRET, signedHeaders } from '../testing/signed-request.ts'
import { openMongo } from '../testing/test-stores.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { store } = stack.use(await openMongo(process.env))

const opened: Handler[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((handler) => handler.close()))
})

/** The most bytes that a gateway accepts if its settings do not say otherwise. */
const MOST_BYTES = gatewaySchema.shape.MAX_WEBHOOK_BYTES.parse(undefined)

/** The largest tasks of such a gateway: the longest names, and a body that is JSON or not. */
const LARGEST: readonly (readonly [string, TaskEvent])[] = [
  ['JSON', largestTask('json', Buffer.from(`"${'x'.repeat(MOST_BYTES - 2)}"`))],
  ['not JSON', largestTask('form', Buffer.alloc(MOST_BYTES, 'a=1&'))],
]

function largestTask(id: string, raw: Buffer): TaskEvent {
  expect(raw).toHaveLength(MOST_BYTES)
  // In JSON, each of these takes two bytes. A provider's id or type has at most 255.
  const longest = '"'.repeat(255)
  const claim = {
    ...{ _id: new ObjectId(), provider: 'p'.repeat(63), handler: 'h', claim: 'c', endsAt: 0, starts: 1, lost: 0 },
    ...{ failures: 0, waited: 0, waitedFor: null, eventId: id + longest.slice(id.length) },
    record: {
      ...{ type: longest, objectId: longest, orderId: longest },
      facts: { occurredAt: '2026-11-27T10:00:00.000Z' },
    },
  }
  return writeTaskEvent(claim, 'h'.repeat(63), { receivedAt: new Date(), attempt: 1, raw })
}

describe.each(LARGEST)('the largest task of a gateway with default settings, with a body that is %s,', (_, task) => {
  it('is accepted by a handler with default settings', async () => {
    const handler = createHandler({ name: 'largest', store, secrets: SECRET, on: { '*': () => undefined } })
    opened.push(handler)
    const init = { method: 'POST', headers: signedHeaders(task.key, task.json), body: task.json }
    const answer = await handler.fetch(new Request('http://127.0.0.1/webhooks', init))
    expect([answer.status, await answer.json()]).toEqual([200, { outcome: 'done', repeated: false }])
  })

  it('fits into what the example in Python reads', () => {
    const example = readFileSync(new URL('../../../../examples/python-fastapi/main.py', import.meta.url), 'utf8')
    const [, most = ''] = /^MAX_BYTES = ([\d_]+)$/m.exec(example) ?? []
    expect(Number(most.replaceAll('_', ''))).toBeGreaterThanOrEqual(Buffer.byteLength(task.json))
  })
})
