import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createPaypalApi } from './paypal-api.ts'

/** PayPal with one token at a time, which it revokes on request. */
function fakePaypal() {
  let current = 0
  let signIns = 0
  let reads = 0
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const { pathname } = new URL(String(url))
    if (pathname === '/v1/oauth2/token') {
      signIns += 1
      current += 1
      await sleep(1)
      return Response.json({ access_token: `token-${current}`, token_type: 'Bearer', expires_in: 32_400 })
    }
    const isLive = new Headers(init?.headers).get('authorization') === `Bearer token-${current}`
    // Some answers come when others have signed in again already.
    reads += 1
    await sleep((reads % 3) * 20)
    return isLive ? Response.json({ id: pathname.split('/').at(-1) }) : Response.json({}, { status: 401 })
  }
  return { fetch, takeBack: () => (current += 100), signIns: () => signIns }
}

describe('createPaypalApi', () => {
  it('signs in once more if PayPal revokes the token, however many requests use it', async () => {
    const { fetch, takeBack, signIns } = fakePaypal()
    const read = createPaypalApi({ baseUrl: 'https://api-m.example.com', token: 'client:secret' })
    expect(await read('WH-0', fetch)).toEqual({ id: 'WH-0' })
    expect(signIns()).toBe(1)
    takeBack()
    const ids = Array.from({ length: 30 }, (_, n) => `WH-${n}`)
    expect(await Promise.all(ids.map((id) => read(id, fetch)))).toEqual(ids.map((id) => ({ id })))
    expect(signIns()).toBe(2)
  })
})
