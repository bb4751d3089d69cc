import { AppError } from '@oncehook/kernel/http/errors'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { describe, expect, it } from 'vitest'
import { createIssuerMetadata } from './issuer-sign-in.ts'

const ISSUER = 'https://login.example/staff'
const DOCUMENT = {
  issuer: ISSUER,
  authorization_endpoint: 'https://login.example/authorize',
  token_endpoint: 'https://tokens.example/token',
}
const KEPT_MS = 600_000
const RETRY_MS = 10_000

function startReader() {
  let now = 1_000_000_000
  let answer = async (): Promise<Response> => Response.json(DOCUMENT)
  const asked: (RequestInit & { readonly url: string })[] = []
  const { logger, lines } = memoryLogger()
  const read = createIssuerMetadata({
    ...{ issuer: ISSUER, logger, clock: { now: () => now } },
    fetch: async (input, init) => {
      asked.push({ ...init, url: String(input) })
      return await answer()
    },
  })
  const outcome = async (): Promise<unknown> => {
    const result: unknown = await read().catch((error: unknown) => error)
    return result instanceof AppError ? [result.code, result.headers['Retry-After']] : result
  }
  return {
    ...{ asked, lines, outcome },
    pass: (ms: number) => {
      now += ms
    },
    answerWith: (next: () => Promise<Response>) => {
      answer = next
    },
  }
}

const UNAVAILABLE = ['sign_in_unavailable', '10']

describe('the metadata of an issuer', () => {
  it('is read with an end and without redirects, and has the defaults of the standards', async () => {
    const { outcome, asked } = startReader()
    expect(await outcome()).toEqual({
      ...DOCUMENT,
      token_endpoint_auth_methods_supported: ['client_secret_basic'],
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: false,
    })
    const url = `${ISSUER}/.well-known/openid-configuration`
    expect(asked).toMatchObject([{ url, redirect: 'manual', signal: expect.any(AbortSignal) }])
  })

  it('says whether the issuer names itself in its answers (RFC 9207)', async () => {
    const { outcome, answerWith } = startReader()
    answerWith(async () => Response.json({ ...DOCUMENT, authorization_response_iss_parameter_supported: true }))
    expect(await outcome()).toMatchObject({ authorization_response_iss_parameter_supported: true })
  })

  it('is kept for 10 minutes, and not after the clock was set back', async () => {
    const { outcome, asked, pass } = startReader()
    await outcome()
    pass(KEPT_MS - 1)
    await outcome()
    expect(asked).toHaveLength(1)
    pass(1)
    await outcome()
    expect(asked).toHaveLength(2)
    pass(-KEPT_MS)
    await outcome()
    expect(asked).toHaveLength(3)
  })

  it('is requested once by callers at once, and again by those after them', async () => {
    const { outcome, asked, answerWith, pass } = startReader()
    const gate = Promise.withResolvers<Response>()
    answerWith(() => gate.promise)
    const callers = [outcome(), outcome(), outcome()]
    gate.resolve(Response.json(DOCUMENT))
    for (const one of callers) expect(await one).toMatchObject(DOCUMENT)
    expect(asked).toHaveLength(1)
    pass(KEPT_MS)
    answerWith(async () => Response.json({ ...DOCUMENT, token_endpoint: 'https://tokens.example/new' }))
    expect(await outcome()).toMatchObject({ token_endpoint: 'https://tokens.example/new' })
  })

  it.each<[string, () => Promise<Response>]>([
    ['of another issuer', async () => Response.json({ ...DOCUMENT, issuer: 'https://evil.example' })],
    ['of a similar issuer', async () => Response.json({ ...DOCUMENT, issuer: `${ISSUER}/` })],
    ['without an endpoint', async () => Response.json({ ...DOCUMENT, token_endpoint: undefined })],
    ['with a token endpoint by http', async () => Response.json({ ...DOCUMENT, token_endpoint: 'http://a.example/' })],
    [
      'with a token endpoint of this machine',
      async () => Response.json({ ...DOCUMENT, token_endpoint: 'http://[::1]/' }),
    ],
    ['with a script', async () => Response.json({ ...DOCUMENT, authorization_endpoint: 'javascript:alert(1)' })],
    ['with a relative address', async () => Response.json({ ...DOCUMENT, authorization_endpoint: '/authorize' })],
    ['that is a page', async () => new Response('<h1>Hello</h1>')],
    ['that is elsewhere', async () => new Response(null, { status: 302, headers: { location: ISSUER } })],
    ['without end', async () => new Response(new Uint8Array(262_145))],
    ['that does not come', () => Promise.reject(new DOMException('The operation timed out', 'TimeoutError'))],
  ])('%s is refused, and requested again after 10 seconds', async (_, faulty) => {
    const { outcome, asked, answerWith, pass, lines } = startReader()
    answerWith(faulty)
    expect([await outcome(), await outcome()]).toEqual([UNAVAILABLE, UNAVAILABLE])
    pass(RETRY_MS - 1)
    expect([await outcome(), asked.length]).toEqual([UNAVAILABLE, 1])
    expect(lines.filter(({ msg }) => msg === 'operator.issuer-failed')).toHaveLength(1)
    pass(1)
    answerWith(async () => Response.json(DOCUMENT))
    expect(await outcome()).toMatchObject(DOCUMENT)
  })
})
