import type { Verification } from '@oncehook/webhooks'
import { expect, it, vi } from 'vitest'
import { createActOnBatch } from '../batch/act-on-batch.ts'
import { createMetrics } from '../metrics.ts'
import { type BodyChunks, createBodyMemory } from './receive-body.ts'
import { createResponder } from './respond.ts'

const unreadable = { outcome: 'unreadable', status: 400, message: 'It is no payment' } as const
const refused = { outcome: 'refused', status: 401, reason: 'signature_mismatch' } as const
const headers = new Headers({ 'content-type': 'application/json', 'webhook-id': 'msg_1', 'webhook-signature': 'v1,' })

function create(verification: Verification, bytes = 1_000) {
  const process = vi.fn(async () => ({ outcome: 'done', repeated: false }) as const)
  const metrics = createMetrics('test')
  const respond = createResponder({
    verifier: { verify: async () => verification, answerCheck: () => ({ outcome: 'handshake', status: 204 }) },
    limits: { maxBytes: 1_000, bodyTimeoutMs: 10_000, timeoutMs: 6_000 },
    memory: createBodyMemory(bytes),
    act: createActOnBatch({ concurrency: 2, metrics, one: process, together: async () => new Map() }),
    metrics,
    process,
  })
  return { process, send: (readBody: () => BodyChunks) => respond({ method: 'POST', headers, readBody }) }
}

it.each<[Verification, number, string[]]>([
  [refused, 401, []],
  [{ outcome: 'handshake', status: 200, body: '{}' }, 401, []],
  [{ outcome: 'undecided', status: 503, message: 'The provider cannot be asked now' }, 401, []],
  [{ ...unreadable, code: 'invalid_body' }, 400, []],
  [{ ...unreadable, code: 'event_invalid' }, 200, ['invoice.paid']],
])('the verification %j gets %i, and acts on %j', async (verification, status, types) => {
  const { send, process } = create(verification)
  const answer = await send(() => [Buffer.from('{"type":"invoice.paid"}')])
  expect(answer.status).toBe(status)
  expect(process.mock.calls).toEqual(types.map((type) => [expect.objectContaining({ type })]))
})

it('a body that finds no room gets 503, displaces none, and finds room when the others are answered', async () => {
  const gate = Promise.withResolvers<void>()
  const { send, process } = create({ ...unreadable, code: 'event_invalid' })
  process.mockImplementationOnce(async () => {
    await gate.promise
    return { outcome: 'done', repeated: false }
  })
  const first = send(() => [Buffer.from('{"type":"invoice.paid"}'.padEnd(900))])
  await expect.poll(() => process.mock.calls.length).toBe(1)
  const begun = Promise.withResolvers<void>()
  const slow = send(async function* () {
    yield Buffer.from('{"type":')
    begun.resolve()
    await gate.promise
    yield Buffer.from('"invoice.paid"}')
  })
  await begun.promise
  const body = Buffer.from('{"type":"invoice.paid"}'.padEnd(200))
  const crowded = { status: 503, headers: { 'retry-after': '1', connection: 'close' } }
  expect(await send(() => [body])).toMatchObject(crowded)
  gate.resolve()
  expect([(await first).status, (await slow).status]).toEqual([200, 200])
  expect((await send(() => [body])).status).toBe(200)
})

it('a body that arrives takes the room of the one that has been arriving for the longest time', async () => {
  const taken = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = (index: number) =>
    async function* () {
      yield Buffer.alloc(450)
      taken[index]?.resolve()
      await new Promise(() => undefined)
    }
  const { send } = create(refused)
  const answers: unknown[] = []
  for (const [index, { promise }] of taken.entries()) {
    void send(slow(index)).then(({ status }) => answers.push([index, status]))
    await promise
  }
  expect((await send(() => [Buffer.alloc(200)])).status).toBe(401)
  expect(answers).toEqual([[0, 503]])
})
