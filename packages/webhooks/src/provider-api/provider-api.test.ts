import { describe, expect, it } from 'vitest'
import { serveApi } from '../testing/serve-api.ts'
import { fetchSettings, readFromApi } from './provider-api.ts'

const token = 'a_token_of_the_api'

describe('fetchSettings', () => {
  it.each([
    [true, 'https://api.example.com'],
    [true, 'https://api.example.com/v3/'],
    [true, 'http://127.0.0.1:8080'],
    [false, 'http://api.example.com'],
    [false, 'http://127.0.0.1.example.com'],
    [false, 'http://10.0.0.1'],
    [false, 'https://user:word@api.example.com'],
    [false, 'https://api.example.com/?a=b'],
    [false, 'file:///etc/passwd'],
  ])('says %s to %j', (isTaken, baseUrl) => {
    expect(fetchSettings.safeParse({ baseUrl, token }).success).toBe(isTaken)
  })

  it.each(['', ' ', 'a b', 'a\nb', 'changeme-changeme'])('refuses %j as a token', (bad) => {
    expect(fetchSettings.safeParse({ baseUrl: 'https://api.example.com', token: bad }).success).toBe(false)
  })
})

const TOO_MUCH = { code: 'overloaded', status: 429, details: { reason: 'asked_too_much' } }

describe('readFromApi', () => {
  it('reads an object, numbers beyond 2^53 exactly', async () => {
    await using api = await serveApi({ '/v1/payments/1': [200, '{"id":9007199254740993}'] })
    const read = await readFromApi({ baseUrl: `${api.baseUrl}/v1/`, token }, { path: ['payments', '1'] }, fetch)
    expect(read).toEqual({ id: 9_007_199_254_740_993n })
    expect(api.requests[0]?.headers.authorization).toBe(`Bearer ${token}`)
  })

  it.each([
    ['a/b', '/payments/a%2Fb'],
    ['a\\b', '/payments/a%5Cb'],
  ])('keeps the id %j one segment of the path', async (id, path) => {
    await using api = await serveApi({})
    expect(await readFromApi({ baseUrl: api.baseUrl, token }, { path: ['payments', id] }, fetch)).toBeNull()
    expect(api.requests.map((request) => request.path)).toEqual([path])
  })

  it('requests at most 64 objects at once from each provider', async () => {
    const settings = { baseUrl: 'https://api.example.com', token }
    const answers: (() => void)[] = []
    const slow: typeof fetch = () => new Promise((resolve) => answers.push(() => resolve(Response.json({}))))
    const ask = (id: number, provider = settings) => readFromApi(provider, { path: ['payments', `${id}`] }, slow)
    const asked = Array.from({ length: 64 }, (_, id) => ask(id))
    await expect(ask(64)).rejects.toMatchObject(TOO_MUCH)
    const other = ask(64, { ...settings })
    expect(answers).toHaveLength(65)
    for (const answer of answers) answer()
    await Promise.all([...asked, other])
    const again = ask(64)
    answers.at(-1)?.()
    expect(await again).toEqual({})
  })

  it('uses one slot for a question, however many wait for it, and lets 256 wait', async () => {
    const settings = { baseUrl: 'https://api.example.com', token }
    const answers: (() => void)[] = []
    const slow: typeof fetch = () => new Promise((resolve) => answers.push(() => resolve(Response.json({}))))
    const ask = (id: string) => readFromApi(settings, { path: [id] }, slow)
    const asked = Array.from({ length: 257 }, () => ask('tr_1'))
    await expect(ask('tr_1')).rejects.toMatchObject(TOO_MUCH)
    asked.push(...Array.from({ length: 63 }, (_, id) => ask(`${id}`)))
    await expect(ask('64')).rejects.toMatchObject(TOO_MUCH)
    for (const answer of answers) answer()
    await expect.poll(() => answers.length).toBe(65)
    answers.at(-1)?.()
    expect(await Promise.all(asked)).toHaveLength(320)
  })

  it('sends one request for 200 callers that come during the first request, and gives them the latest answer', async () => {
    const settings = { baseUrl: 'https://api.example.com', token }
    const answers: ((state: string) => void)[] = []
    const slow: typeof fetch = () =>
      new Promise((resolve) => answers.push((state) => resolve(Response.json({ state }))))
    const ask = () => readFromApi(settings, { path: ['payments', 'tr_1'] }, slow)
    const first = ask()
    const others = Array.from({ length: 200 }, ask)
    expect(answers).toHaveLength(1)
    answers[0]?.('open')
    expect(await first).toEqual({ state: 'open' })
    await expect.poll(() => answers.length).toBe(2)
    answers[1]?.('paid')
    expect(new Set(await Promise.all(others.map(async (answer) => (await answer)?.state)))).toEqual(new Set(['paid']))
    expect(answers).toHaveLength(2)
  })

  it('begins questions about one thing as often as it may, and asks about others meanwhile', async () => {
    const settings = { baseUrl: 'https://api.example.com', token }
    const begun: [path: string, at: number][] = []
    const quick: typeof fetch = async (url) => {
      begun.push([new URL(String(url)).pathname, performance.now()])
      return Response.json({})
    }
    const ask = (id: string) => readFromApi(settings, { path: [id], everyMs: 300 }, quick)
    const startedAt = performance.now()
    await ask('a')
    const second = ask('a')
    await ask('b')
    await second
    await ask('a')
    const times = begun.filter(([path]) => path === '/a').map(([, at]) => at)
    expect(times).toHaveLength(3)
    // From before the first question: a busy process may reach its fetch late. A timer may end a millisecond early.
    for (const [nth, at] of times.entries()) expect(at - startedAt).toBeGreaterThan(nth * 298)
    expect(begun.map(([path]) => path)).toEqual(['/a', '/b', '/a', '/a'])
  })

  it('sends a new request when the one that others waited for has failed', async () => {
    const settings = { baseUrl: 'https://api.example.com', token }
    let asked = 0
    const failing: typeof fetch = async () => {
      asked += 1
      return Response.json({}, { status: asked === 1 ? 500 : 200 })
    }
    const answers = await Promise.allSettled([1, 2, 3].map(() => readFromApi(settings, { path: ['a'] }, failing)))
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
    expect(asked).toBe(2)
  })

  it.each(['', '.', '..'])('asks nobody for the id %j', async (id) => {
    await using api = await serveApi({})
    expect(await readFromApi({ baseUrl: api.baseUrl, token }, { path: ['payments', id] }, fetch)).toBeNull()
    expect(api.requests).toEqual([])
  })

  it.each([
    ['a redirect', [302, '', { Location: '/payments/2' }]],
    ['a refused token', [401, {}]],
    ['an error', [500, {}]],
    ['a list', [200, []]],
    ['no JSON', [200, '<html>']],
    ['more than a mebibyte', [200, Buffer.alloc(1_048_577, 0x20)]],
  ] as const)('is unavailable for %s, and follows nothing', async (_, answer) => {
    await using api = await serveApi({ '/payments/1': answer, '/payments/2': [200, { id: 2 }] })
    await expect(
      readFromApi({ baseUrl: api.baseUrl, token }, { path: ['payments', '1'] }, fetch),
    ).rejects.toMatchObject({ code: 'unavailable' })
    expect(api.requests.length).toBe(1)
  })

  it('is unavailable if nothing listens', async () => {
    await expect(
      readFromApi({ baseUrl: 'http://127.0.0.1:1', token }, { path: ['payments', '1'] }, fetch),
    ).rejects.toMatchObject({ code: 'unavailable' })
  })
})
