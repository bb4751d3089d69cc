import type { Verification } from '@oncehook/webhooks'
import { expect, it, vi } from 'vitest'
import { createMetrics } from '../metrics.ts'
import { answerJson } from './answer.ts'
import { createResponder } from './respond.ts'

const unreadable = { outcome: 'unreadable', status: 400, message: 'It is no payment' } as const

it.each<[Verification, number, string[]]>([
  [{ outcome: 'refused', status: 401, reason: 'signature_mismatch' }, 401, []],
  [{ outcome: 'handshake', status: 200, body: '{}' }, 401, []],
  [{ outcome: 'undecided', status: 503, message: 'The provider cannot be asked now' }, 401, []],
  [{ ...unreadable, code: 'invalid_body' }, 400, []],
  [{ ...unreadable, code: 'event_invalid' }, 200, ['invoice.paid']],
])('the verification %j gets %i, and acts on %j', async (verification, status, types) => {
  const process = vi.fn(async () => answerJson(200, {}))
  const respond = createResponder({
    verifier: { verify: async () => verification, answerCheck: () => ({ outcome: 'handshake', status: 204 }) },
    limits: { maxBytes: 1_000, bodyTimeoutMs: 1_000 },
    metrics: createMetrics('test'),
    process,
  })
  const headers = new Headers({ 'content-type': 'application/json', 'webhook-id': 'msg_1', 'webhook-signature': 'v1,' })
  const answer = await respond({ method: 'POST', headers, readBody: () => [Buffer.from('{"type":"invoice.paid"}')] })
  expect(answer.status).toBe(status)
  expect(process.mock.calls).toEqual(types.map((type) => [expect.objectContaining({ type }), expect.anything()]))
})
