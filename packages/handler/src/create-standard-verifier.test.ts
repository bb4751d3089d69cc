import { expect, it } from 'vitest'
import { createStandardVerifier } from './http/respond.ts'
import { SECRET, signedHeaders } from './testing/signed-request.ts'

const verifier = createStandardVerifier({ secrets: SECRET }, Date.now)
const body = '{"type":"invoice.paid","data":{}}'

const [provider, handler] = ['p'.repeat(63), 'h'.repeat(63)]

it.each([
  ['a task, of 600 characters', `${provider}:${'%C3%A9:~'.repeat(59)}:${handler}`, 'unreadable'],
  ['a task, of 601 characters', `${provider}:${'%C3%A9:~'.repeat(59)}x:${handler}`, 'refused'],
  ['an event, of 255 characters', 'x'.repeat(255), 'unreadable'],
  ['an event, of 256 characters', 'x'.repeat(256), 'refused'],
  ['a task, with a dot', 'shop:evt.1:billing', 'refused'],
  ['a task, with a space beyond 255 characters', `shop:${'x'.repeat(255)} x:billing`, 'refused'],
])('the id of %s', async (_, id, outcome) => {
  expect((await verifier.verify({ rawBody: body, headers: signedHeaders(id, body) })).outcome).toBe(outcome)
})
