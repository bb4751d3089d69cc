import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { startSignInIssuer } from '../../testing/issuer/sign-in-issuer.ts'
import { startOperatedSystem } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const issuer = stack.use(await startSignInIssuer({ people: { alice: ['hook-readers'] } }))
let now = Date.now()
const system = stack.use(await startOperatedSystem(database, { clock: { now: () => now }, settings: issuer.settings }))
const origin = system.gateway.adminUrl
issuer.register(origin)
/** Each test has its own minute, so that no other test's attempts count. */
beforeEach(() => {
  now += 60_000
})

/** Sends the head of a request. Resolves, once the gateway has begun to answer it, to what sends the body. */
async function beginRequest(path: string, body: object): Promise<() => Promise<number>> {
  const text = JSON.stringify(body)
  const headers = {
    ...{ 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), origin },
    ...{ expect: '100-continue' },
  }
  const sent = request(`${origin}${path}`, { method: 'POST', agent: false, headers })
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>
  sent.flushHeaders()
  await once(sent, 'continue')
  return async () => {
    sent.end(text)
    const [response] = await answered
    response.resume()
    return response.statusCode ?? 0
  }
}

const code = 'c'.repeat(43)
const random = 'r'.repeat(43)
const kept = { state: random, nonce: random, verifier: random }

describe('attempts to sign in that arrive at once', () => {
  it.each([
    ['with codes', '/sign-in', { code }],
    ['at the issuer', '/sign-in/issuer/finish', { answer: `code=${code}&state=other`, kept }],
  ])('%s are ten, although none of them was wrong when the others began', async (_, path, body) => {
    const begun = await Promise.all(Array.from({ length: 14 }, () => beginRequest(path, body)))
    const statuses = await Promise.all(begun.map((send) => send()))
    expect(statuses.toSorted()).toEqual([...Array<number>(10).fill(401), ...Array<number>(4).fill(429)])
  })
})

it('wrong codes and wrong answers of the issuer count together', async () => {
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', origin }
    return (await fetch(`${origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).status
  }
  for (let times = 0; times < 5; times += 1) {
    expect(await post('/sign-in', { code })).toBe(401)
    expect(await post('/sign-in/issuer/finish', { answer: 'code=a', kept })).toBe(401)
  }
  expect(await post('/sign-in', { code })).toBe(429)
  expect(await post('/sign-in/issuer/finish', { answer: 'code=a', kept })).toBe(429)
  expect(await post('/sign-in/issuer/begin', {})).toBe(429)
})
