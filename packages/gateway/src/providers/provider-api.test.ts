import { describe, expect, it } from 'vitest'
import { serveApi } from '../testing/serve-api.ts'
import { fetchSettings, readFromApi } from './provider-api.ts'

const token = 'a_token_of_the_api'

describe('fetchSettings', () => {
  it.each([
    'https://api.example.com',
    'https://api.example.com/v3/',
    'http://127.0.0.1:8080',
    'http://localhost',
    'http://[::1]:1',
  ])('takes %s', (baseUrl) => {
    expect(fetchSettings.safeParse({ baseUrl, token }).success).toBe(true)
  })

  it.each([
    'http://api.example.com',
    'http://127.0.0.1.example.com',
    'http://10.0.0.1',
    'https://user:word@api.example.com',
    'https://api.example.com/?a=b',
    'https://api.example.com/?',
    'https://api.example.com/#a',
    'file:///etc/passwd',
    'api.example.com',
    '',
  ])('refuses %j', (baseUrl) => {
    expect(fetchSettings.safeParse({ baseUrl, token }).success).toBe(false)
  })

  it.each(['', ' ', 'a b', 'a\nb', 'changeme-changeme'])('refuses %j as a token', (bad) => {
    expect(fetchSettings.safeParse({ baseUrl: 'https://api.example.com', token: bad }).success).toBe(false)
  })
})

describe('readFromApi', () => {
  it('reads an object, numbers beyond 2^53 exactly', async () => {
    await using api = await serveApi({ '/v1/payments/1': [200, '{"id":9007199254740993}'] })
    const read = await readFromApi({ baseUrl: `${api.baseUrl}/v1/`, token }, { path: ['payments', '1'] }, fetch)
    expect(read).toEqual({ id: 9_007_199_254_740_993n })
    expect(api.requests[0]?.headers.authorization).toBe(`Bearer ${token}`)
  })

  it.each([
    ['a/b', '/payments/a%2Fb'],
    ['a?b#c', '/payments/a%3Fb%23c'],
    ['a%2fb', '/payments/a%252fb'],
    ['a\\b', '/payments/a%5Cb'],
  ])('keeps the id %j one segment of the path', async (id, path) => {
    await using api = await serveApi({})
    expect(await readFromApi({ baseUrl: api.baseUrl, token }, { path: ['payments', id] }, fetch)).toBeNull()
    expect(api.requests.map((request) => request.path)).toEqual([path])
  })

  it('asks for 64 objects at once and no more, of each provider', async () => {
    const settings = { baseUrl: 'https://api.example.com', token }
    const answers: (() => void)[] = []
    const slow: typeof fetch = () => new Promise((resolve) => answers.push(() => resolve(Response.json({}))))
    const question = { path: ['payments', '1'] }
    const asked = Array.from({ length: 64 }, () => readFromApi(settings, question, slow))
    await expect(readFromApi(settings, question, slow)).rejects.toMatchObject({
      ...{ code: 'unavailable', details: { reason: 'provider_asked_too_much' } },
    })
    const other = readFromApi({ ...settings }, question, slow)
    expect(answers).toHaveLength(65)
    for (const answer of answers) answer()
    await Promise.all([...asked, other])
    const again = readFromApi(settings, question, slow)
    answers.at(-1)?.()
    expect(await again).toEqual({})
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

  it('is unavailable where nobody listens', async () => {
    await expect(
      readFromApi({ baseUrl: 'http://127.0.0.1:1', token }, { path: ['payments', '1'] }, fetch),
    ).rejects.toMatchObject({ code: 'unavailable' })
  })
})
