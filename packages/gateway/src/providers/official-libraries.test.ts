import { sign as signForGithub, verify as verifyOfGithub } from '@octokit/webhooks-methods'
import { Paddle } from '@paddle/paddle-node-sdk'
import { verifyWebhookSignatureWithCurrentTime } from 'hook0-client'
import { validateWebhookSignature } from 'razorpay/dist/utils/razorpay-utils.js'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeProvider } from '../testing/make-provider.ts'
import { deliveryOf, providerOf, readVectorFiles, type Vector } from '../testing/vectors.ts'

const paddle = new Paddle('unused')

/** A delivery as libraries take one. */
interface Sent {
  readonly body: string
  readonly headers: Headers
  readonly vector: Vector
}

type Library = readonly [scheme: string, library: string, verify: (sent: Sent) => boolean | Promise<boolean>]

const LIBRARIES: readonly Library[] = [
  [
    'github',
    '@octokit/webhooks-methods',
    ({ body, headers, vector }) => verifyOfGithub(vector.secret, body, headers.get('x-hub-signature-256') ?? ''),
  ],
  [
    'paddle',
    '@paddle/paddle-node-sdk',
    ({ body, headers, vector }) =>
      paddle.webhooks.isSignatureValid(body, vector.secret, headers.get('paddle-signature') ?? ''),
  ],
  [
    'hook0',
    'hook0-client',
    ({ body, headers, vector }) =>
      holds(() => {
        const signature = headers.get('x-hook0-signature') ?? ''
        const at = new Date(vector.now * 1_000)
        verifyWebhookSignatureWithCurrentTime(signature, Buffer.from(body), headers, vector.secret, 300, at)
      }),
  ],
  [
    'razorpay',
    'razorpay',
    ({ body, headers, vector }) =>
      validateWebhookSignature(body, headers.get('x-razorpay-signature') ?? '', vector.secret),
  ],
]

function holds(verify: () => void): boolean {
  try {
    verify()
    return true
  } catch {
    return false
  }
}

const files = readVectorFiles()

describe.each(LIBRARIES)('%s beside the official library %s', (scheme, _, verify) => {
  const vectors = files
    .flatMap((file) => (file.scheme === scheme ? file.cases : []))
    .filter(({ verdict, why }) => verdict === 'accepted' && /^signed as |^published/.test(why))

  // Some libraries ask the clock of the process.
  beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterAll(() => void vi.useRealTimers())

  it.each(vectors)('agrees with it: $why', async (vector) => {
    vi.setSystemTime(vector.now * 1_000)
    const delivery = deliveryOf(vector)
    const headers = new Headers(vector.headers.map(([name, value]) => [name, value]))
    const sent = { body: delivery.rawBody.toString(), headers, vector }
    expect(await verify(sent)).toBe(true)
    expect(await providerOf(scheme, vector).verify(delivery, vector.now * 1_000)).toHaveProperty('secretId')

    const changed = `${sent.body} `
    expect(await verify({ ...sent, body: changed })).toBe(false)
    const rawBody = Buffer.from(changed)
    expect(await providerOf(scheme, vector).verify({ ...delivery, rawBody }, vector.now * 1_000)).toHaveProperty(
      'refused',
    )
  })
})

describe('github', () => {
  it('accepts what @octokit/webhooks-methods signs', async () => {
    const provider = makeProvider({ settings: { scheme: 'github' }, secrets: [{ value: 'test_secret' }] })
    const body = '{"note":"café 10 €"}'
    const rawHeaders = ['X-Hub-Signature-256', await signForGithub('test_secret', body)]
    expect(await provider.verify({ rawBody: Buffer.from(body), rawHeaders, query: '' }, 0)).toHaveProperty('secretId')
  })
})
