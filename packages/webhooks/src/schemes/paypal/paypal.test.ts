import { describe, expect, it } from 'vitest'
import { PAYPAL_CHAIN, PAYPAL_PURPOSES } from '../../testing/paypal-chain.ts'
import { createPaypalFinder } from './paypal-certificates.ts'

const { root, intermediate, leaf } = PAYPAL_CHAIN
const now = 1_760_000_000_000
const url = 'https://api.paypal.com/v1/notifications/certs/CERT-1'

/** A finder whose certificates come from `answer`, with the addresses that it asked for. */
function finder(answer: () => Response | Promise<Response>) {
  const asked: unknown[] = []
  const fetch = async (...call: unknown[]): Promise<Response> => {
    asked.push(...call)
    return await answer()
  }
  let passedMs = 0
  const findKey = createPaypalFinder([root], () => passedMs)
  const find = (wanted: string, at: number, { from, sandbox = false }: { from?: string; sandbox?: boolean } = {}) =>
    findKey(wanted, { now: at, fetch: fetch as typeof globalThis.fetch, from, sandbox })
  const pass = (ms: number): void => {
    passedMs += ms
  }
  return { find, pass, asked, askedFor: () => asked.filter((one) => typeof one === 'string') }
}

const CLOCKS: readonly (readonly [string, number])[] = [
  ['', now],
  [', also if the clock is set back', now - 3_600_000],
  [', also if the clock is set forward', now + 3_600_000],
]

const chain = (...pem: string[]) => finder(() => new Response(pem.join('\n')))

describe('createPaypalFinder', () => {
  it('finds the key of a certificate whose chain leads to a trusted root, and keeps it', async () => {
    const { find, asked } = chain(leaf, intermediate)
    expect(await find(url, now)).not.toBeNull()
    expect(await find(url, now)).not.toBeNull()
    expect(asked).toEqual([url, expect.objectContaining({ redirect: 'manual' })])
  })

  it('asks once for deliveries that come together', async () => {
    const { find, asked } = chain(leaf, intermediate)
    await Promise.all([find(url, now), find(url, now), find(url, now)])
    expect(asked.filter((one) => one === url)).toHaveLength(1)
  })

  it.each([
    ['without its issuer', [leaf]],
    ['whose issuer is nobody known', [PAYPAL_CHAIN.stranger]],
    ['of another name', [PAYPAL_CHAIN.ofAnotherName, intermediate]],
    ['of a name that only begins like it', [PAYPAL_CHAIN.ofAnotherDomain, intermediate]],
    ['that has ended', [PAYPAL_CHAIN.ended, intermediate]],
    ['that one issued which may issue none', [PAYPAL_CHAIN.issuedByLeaf, PAYPAL_CHAIN.stranger, leaf, intermediate]],
    ['that is the root itself', [root]],
    ['that is the one of an issuer', [intermediate, root]],
    ['that is none', ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----']],
    ['that is missing', ['']],
  ])('trusts no certificate %s', async (_, pem) => {
    expect(await chain(...pem).find(url, now)).toBeNull()
  })

  it('trusts a certificate no longer than it counts, kept or not', async () => {
    const { find } = chain(leaf, intermediate)
    expect(await find(url, now)).not.toBeNull()
    expect(await find(url, Date.parse('2046-01-01T00:00:00Z'))).toBeNull()
  })

  it('asks again for one that has ended, and finds its successor', async () => {
    const answers = [PAYPAL_CHAIN.ended, leaf]
    const { find, pass, asked } = finder(() => new Response([answers.shift() ?? '', intermediate].join('\n')))
    expect(await find(url, now)).toBeNull()
    pass(300_000)
    expect(await find(url, now)).not.toBeNull()
    pass(300_000)
    expect(await find(url, now)).not.toBeNull()
    expect(asked.filter((one) => one === url)).toHaveLength(2)
  })

  it.each(CLOCKS)('asks at most once in five minutes for an expired one%s', async (_, later) => {
    const { find, pass, asked } = chain(PAYPAL_CHAIN.ended, intermediate)
    expect(await find(url, now)).toBeNull()
    for (const ms of [1, 299_998]) {
      pass(ms)
      expect(await find(url, later)).toBeNull()
    }
    expect(asked.filter((one) => one === url)).toHaveLength(1)
    pass(1)
    expect(await find(url, later)).toBeNull()
    expect(asked.filter((one) => one === url)).toHaveLength(2)
  })

  it.each([
    'http://api.paypal.com/v1/notifications/certs/A',
    'https://example.com/v1/notifications/certs/A',
    'https://www.paypal.com/v1/notifications/certs/A',
    'https://no-such-host.paypal.com/v1/notifications/certs/A',
    'https://api.sandbox.paypal.com/v1/notifications/certs/A',
    'https://api-m.sandbox.paypal.com/v1/notifications/certs/A',
  ])('never asks for %s', async (other) => {
    const { find, asked } = chain(leaf, intermediate)
    expect(await find(other, now)).toBeNull()
    expect(asked).toEqual([])
  })

  it.each([302, 404])('has no certificate where the answer is %i', async (status) => {
    expect(await finder(() => new Response('', { status })).find(url, now)).toBeNull()
  })

  it.each<[string, () => Response | Promise<Response>]>([
    ['is an error', () => new Response('', { status: 503 })],
    ['is larger than 64 KiB', () => new Response('x'.repeat(65_537))],
    ['does not come', () => Promise.reject(new Error('No route'))],
  ])('is unavailable if the answer %s, and asks again later', async (_, answer) => {
    const { find, asked } = finder(answer)
    await expect(find(url, now)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(find(url, now)).rejects.toMatchObject({ code: 'unavailable' })
    expect(asked.filter((one) => one === url)).toHaveLength(2)
  })

  it('asks for at most four certificates at once', async () => {
    const { find, asked } = finder(() => new Promise<Response>(() => undefined))
    for (const n of [1, 2, 3, 4]) void find(`${url}${n}`, now)
    await expect(find(`${url}5`, now)).rejects.toMatchObject({ code: 'unavailable' })
    expect(asked.filter((one) => typeof one === 'string')).toHaveLength(4)
  })
})

describe('the certificates that a finder keeps and asks for', () => {
  const urlOf = (n: number): string => `https://api-m.paypal.com/v1/notifications/certs/CERT-${n}`

  it('come from the hosts of the sandbox only if that is allowed', async () => {
    const { find } = chain(leaf, intermediate)
    const sandboxUrl = 'https://api-m.sandbox.paypal.com/v1/notifications/certs/A'
    expect(await find(sandboxUrl, now, { sandbox: true })).not.toBeNull()
    expect(await find(sandboxUrl, now)).toBeNull()
  })

  it.each(CLOCKS)(
    'are requested for one address until three requests have failed, then not for half a minute%s; other addresses are still served',
    async (_, later) => {
      const { find, pass, askedFor } = finder(() => new Response('', { status: 404 }))
      for (const n of [1, 2, 3, 4, 5]) await find(urlOf(n), now, { from: '192.0.2.1' }).catch(() => null)
      expect(askedFor()).toHaveLength(3)
      await expect(find(urlOf(6), now, { from: '192.0.2.1' })).rejects.toMatchObject({ code: 'unavailable' })
      await find(urlOf(7), now, { from: '192.0.2.2' })
      pass(29_999)
      await expect(find(urlOf(8), later, { from: '192.0.2.1' })).rejects.toMatchObject({ code: 'unavailable' })
      pass(1)
      await find(urlOf(8), later, { from: '192.0.2.1' })
      expect(askedFor()).toHaveLength(5)
    },
  )

  it('have a place left once they have verified, while strangers hold all others', async () => {
    const answers: (() => Promise<Response>)[] = [async () => new Response([leaf, intermediate].join('\n'))]
    const never = () => new Promise<Response>(() => undefined)
    const { find, pass, askedFor } = finder(() => (answers.shift() ?? never)())
    const found = await find(url, now)
    found?.proved()
    for (const n of [1, 2, 3, 4]) void find(urlOf(n), now)
    await expect(find(urlOf(5), now)).rejects.toMatchObject({ code: 'unavailable' })
    // It has ended, so it is asked for again.
    pass(300_000)
    answers.push(async () => new Response([leaf, intermediate].join('\n')))
    expect(await find(url, Date.parse('2046-01-01T00:00:00Z'))).toBeNull()
    expect(askedFor().filter((one) => one === url)).toHaveLength(2)
  })

  it('stay when they have verified, however many others are asked for', async () => {
    const { find, askedFor } = chain(leaf, intermediate)
    const found = await find(url, now)
    found?.proved()
    for (let n = 0; n < 40; n += 1) await find(urlOf(n), now)
    await find(url, now)
    expect(askedFor().filter((one) => one === url)).toHaveLength(1)
  })

  it.each([
    ['serverAuth', true],
    ['codeSigning', false],
  ])('are trusted by their purpose: %s', async (purpose, isTrusted) => {
    const { ca, certificate } = PAYPAL_PURPOSES[purpose as keyof typeof PAYPAL_PURPOSES]
    const fetch = async () => new Response(certificate)
    const found = await createPaypalFinder([ca])(url, {
      now: Date.parse('2030-01-01T00:00:00Z'),
      fetch,
      sandbox: false,
    })
    expect(found !== null).toBe(isTrusted)
  })
})
