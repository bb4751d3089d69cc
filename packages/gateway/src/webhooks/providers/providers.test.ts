import { createHmac } from 'node:crypto'
import { settingsProblems } from '@oncehook/kernel/testing/settings-problems'
import { PAYPAL_CHAIN } from '@oncehook/webhooks/testing/paypal-chain'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hmacProvider } from '../../testing/hmac-provider.ts'
import { type Providers, readProviders } from './providers.ts'

const secret = 'canary-secret-0123456789'
const whsec = `whsec_${Buffer.from(secret).toString('base64')}`
const hmac = hmacProvider({ id: 'a', value: secret })
const stripe = { scheme: 'stripe', secrets: [{ id: 'a', value: whsec }] }

function read(providers: unknown, sources: { env?: Record<string, string>; files?: Record<string, string> } = {}) {
  return readProviders(typeof providers === 'string' ? providers : JSON.stringify(providers), {
    readEnv: (name) => sources.env?.[name],
    readFile(path) {
      const text = sources.files?.[path]
      if (text === undefined) throw new Error(`ENOENT: no such file, open '${path}'`)
      return text
    },
    maxBytes: 1_000,
    toleranceSeconds: 300,
  })
}

const problemsOf = (providers: unknown, sources?: Parameters<typeof read>[1]) =>
  settingsProblems(() => read(providers, sources))

/** Whether the provider called acme takes a delivery of the body x with these headers. */
function takes(providers: Providers, rawHeaders: readonly string[]): boolean {
  const result = providers.get('acme')?.verify({ rawBody: Buffer.from('x'), rawHeaders, query: '' }, 0, fetch)
  return result !== undefined && 'secretId' in result
}

describe('readProviders', () => {
  it('reads every scheme, by the name in the path', () => {
    const providers = read({
      acme: { scheme: 'standard-webhooks', effects: [], secrets: [{ id: '2026-11', value: whsec }] },
      stripe,
      shop: hmac,
    })
    expect([...providers.keys()]).toEqual(['acme', 'stripe', 'shop'])
    expect([...providers.values()].map(({ name, scheme }) => [name, scheme])).toEqual([
      ['acme', 'standard-webhooks'],
      ['stripe', 'stripe'],
      ['shop', 'hmac'],
    ])
  })

  it('is a map: it contains only configured names', () => {
    const providers = read({ acme: hmac })
    for (const name of ['constructor', '__proto__', 'toString', 'ACME', '']) expect(providers.get(name)).toBeUndefined()
  })

  it('reads a secret from a variable or a file, without its last line break', () => {
    const header = ['x-signature', createHmac('sha256', secret).update('x').digest('hex')]
    const from = (value: object, sources: Parameters<typeof read>[1]) =>
      takes(read({ acme: { ...hmac, secrets: [{ id: 'a', value }] } }, sources), header)
    expect(from({ env: 'ACME' }, { env: { ACME: secret } })).toBe(true)
    expect(from({ file: '/run/acme' }, { files: { '/run/acme': secret } })).toBe(true)
    expect(from({ file: '/run/acme' }, { files: { '/run/acme': `${secret}\n` } })).toBe(true)
    expect(from({ file: '/run/acme' }, { files: { '/run/acme': `${secret}\r\n` } })).toBe(true)
    expect(from({ env: 'ACME' }, { env: { ACME: `${secret}!` } })).toBe(false)
  })

  it('names a secret that its variable or file does not hold', () => {
    const secrets = [
      { id: 'one', value: { env: 'ABSENT' } },
      { id: 'two', value: { file: '/absent' } },
    ]
    expect(problemsOf({ acme: { ...hmac, secrets } })).toEqual([
      'PROVIDERS.acme: secret one cannot be read',
      'PROVIDERS.acme: secret two cannot be read',
    ])
  })

  it('tries the settings on a sample in a file, and says which setting names a file that cannot be read', () => {
    const files = { '/sample.json': '{"id":"evt_1","type":"x","data":{"object":{"id":"o_1"}}}\n' }
    const problemsOfSample = (settings: object) => problemsOf({ acme: { ...hmac, ...settings } }, { files })
    expect(problemsOfSample({ sample: { file: '/sample.json' } })).toEqual([])
    expect(problemsOfSample({ sample: { file: '/sample.json' }, read: { order: '/cart' } })).toEqual([
      'PROVIDERS.acme: sample has nothing at read.order',
    ])
    expect(problemsOfSample({ sample: { file: '/absent.json' } })).toEqual(['PROVIDERS.acme.sample cannot be read'])
  })

  it.each([
    ['empty', '', 'is empty'],
    ['surrounded by blanks', ` ${secret}`, 'has leading or trailing whitespace'],
    ['a sample placeholder', `changeme-${secret}`, 'is a sample placeholder'],
    ['one character repeated', 'x'.repeat(40), 'is a sample placeholder'],
    ['15 bytes', 'canary-secret-0', 'is shorter than 16 bytes'],
  ])('refuses a secret that is %s', (_, value, problem) => {
    expect(problemsOf({ acme: { ...hmac, secrets: [{ id: 'a', value }] } })).toEqual([
      `PROVIDERS.acme: secret a ${problem}`,
    ])
  })

  it.each(['stripe', 'standard-webhooks'])(
    'refuses a %s secret that is a prefix with nothing but samples behind',
    (scheme) => {
      const problem = (value: string) =>
        problemsOf({ acme: { scheme, effects: [], acceptShortSecret: true, secrets: [{ id: 'a', value }] } })
      expect(problem('whsec_')).toEqual(['PROVIDERS.acme: secret a is empty'])
      expect(problem('whsec_ ')).toEqual(['PROVIDERS.acme: secret a has leading or trailing whitespace'])
      expect(problem(`whsec_${'A'.repeat(44)}`)).toEqual(['PROVIDERS.acme: secret a is a sample placeholder'])
    },
  )

  it('accepts a short secret only if the provider’s settings allow it, and never an empty one', () => {
    const short = { ...hmac, secrets: [{ id: 'a', value: 'short' }] }
    expect(problemsOf({ acme: { ...short, acceptShortSecret: true } })).toEqual([])
    expect(problemsOf({ acme: { ...short, acceptShortSecret: false } })).toHaveLength(1)
    expect(problemsOf({ acme: { ...short, acceptShortSecret: true, secrets: [{ id: 'a', value: '' }] } })).toEqual([
      'PROVIDERS.acme: secret a is empty',
    ])
  })

  it.each([
    [{ scheme: 'standard-webhooks', effects: [] }, 'whsec_not*base64*canary', 'is not whsec_ followed by base64'],
    [{ scheme: 'standard-webhooks', effects: [] }, whsec.slice(0, -1), 'is not whsec_ followed by base64'],
    [
      { scheme: 'standard-webhooks', effects: [] },
      `whpk_${'A1'.repeat(16)}`,
      'is not whpk_ followed by the base64 of 32 bytes',
    ],
    [
      { scheme: 'standard-webhooks', effects: [] },
      `whsk_${'A1'.repeat(16)}`,
      'is a private key, its public half (whpk_) is needed',
    ],
    [
      { scheme: 'hmac', header: 'x', effects: [], secretEncoding: 'hex' },
      'canary-is-no-hexadecimal',
      'is not hexadecimal',
    ],
    [{ scheme: 'hmac', header: 'x', effects: [], secretEncoding: 'hex' }, 'AB1'.repeat(11), 'is not hexadecimal'],
    [{ scheme: 'hmac', header: 'x', effects: [], secretEncoding: 'base64' }, 'canary is no base64', 'is not base64'],
    [{ scheme: 'hmac', header: 'x', effects: [], secretEncoding: 'hex' }, 'ab01'.repeat(7), 'is shorter than 16 bytes'],
  ])('refuses a secret of %o that cannot be decoded', (settings, value, problem) => {
    expect(problemsOf({ acme: { ...settings, secrets: [{ id: 'a', value }] } })).toEqual([
      `PROVIDERS.acme: secret a ${problem}`,
    ])
  })

  it('accepts a hexadecimal secret in capitals as the same key, and a signature in capitals', async () => {
    const text = 'AB01'.repeat(8)
    const settings = {
      scheme: 'hmac',
      header: 'x',
      effects: [],
      secretEncoding: 'hex',
      secrets: [{ id: 'a', value: text }],
    }
    const provider = read({ acme: settings }).get('acme')
    const rawBody = Buffer.from('{}')
    const signature = createHmac('sha256', Buffer.from(text, 'hex')).update(rawBody).digest('hex')
    const verify = (value: string) => provider?.verify({ rawBody, rawHeaders: ['x', value], query: '' }, 0, fetch)
    expect(await verify(signature)).toMatchObject({ secretId: 'a' })
    expect(await verify(signature.toUpperCase())).toMatchObject({ secretId: 'a' })
  })

  const clear = { scheme: 'flutterwave', secrets: [{ id: 'a', value: secret }] }
  const asking = (token: unknown) => ({ ...clear, fetch: { baseUrl: 'https://api.example.com', token } })

  it.each([
    ['itself', 'canary_token'],
    ['a variable', { env: 'TOKEN' }],
  ])('asks with the token from %s', async (_, token) => {
    const sources = { env: { TOKEN: 'canary_token' }, files: { '/run/token': 'canary_token\n' } }
    const delivery = { rawBody: Buffer.from('{"event":"charge.completed","data":{"id":1}}'), query: '' }
    const provider = read({ acme: asking(token) }, sources).get('acme')
    const verdict = await provider?.verify({ ...delivery, rawHeaders: ['verif-hash', secret] }, 0, fetch)
    if (provider?.confirm === undefined || verdict === undefined || 'refused' in verdict) throw new Error('Refused')
    const [event] = provider.readEvents(verdict)
    if (event === undefined) throw new Error('No event')
    const asked: unknown[] = []
    const answer = (...call: unknown[]): Promise<Response> => {
      asked.push(...call)
      return Promise.resolve(new Response('', { status: 404 }))
    }
    await provider.confirm(event, answer as typeof fetch)
    expect(asked[1]).toMatchObject({ headers: { Authorization: 'Bearer canary_token' } })
  })

  it.each([
    ['that its variable does not hold', { env: 'ABSENT' }, 'cannot be read'],
    ['with blanks around it', { env: 'BLANKS' }, 'must be a token'],
    ['that is a placeholder', { file: '/run/sample' }, 'must be a token'],
    ['of a kind that nobody knows', { vault: 'canary' }, 'invalid input'],
  ])('refuses a token %s, once', (_, token, problem) => {
    const files = { '/run/lines': 'canary\ntoken', '/run/sample': 'changeme-canary' }
    expect(problemsOf({ acme: asking(token) }, { env: { BLANKS: ' canary ', EMPTY: '' }, files })).toEqual([
      expect.stringMatching(new RegExp(`^PROVIDERS\\.acme\\.fetch\\.token ${problem}(?!.*canary)`)),
    ])
  })

  it('needs an API to ask and a key for it, and no secret, of a provider that signs nothing', () => {
    const fetch = { baseUrl: 'https://api.mollie.com/v2', token: 'live_key_0001' }
    const problem = (settings: object) => problemsOf({ acme: { scheme: 'mollie-classic', ...settings } }).join()
    expect(problem({ fetch })).toBe('')
    expect(problem({})).toMatch(/^PROVIDERS\.acme\.fetch /)
    expect(problem({ fetch: { baseUrl: fetch.baseUrl } })).toMatch(/^PROVIDERS\.acme\.fetch\.token /)
    const secrets = [{ id: 's1', value: 'a secret of nothing at all' }]
    expect(problem({ fetch, secrets })).toBe('PROVIDERS.acme.secrets must be omitted: nothing is signed')
  })

  const pinning = (...certificates: unknown[]) => ({
    ...{ scheme: 'paypal', certificates },
    secrets: [{ id: 'a', value: '1JE4291016473214C' }],
  })

  it('reads certificates from files, in addition to those in the settings', () => {
    const files = { '/run/leaf.pem': `${PAYPAL_CHAIN.leaf}\n`, '/run/none.pem': 'no certificate' }
    const file = (path: string) => ({ file: path })
    expect(problemsOf({ acme: pinning(file('/run/leaf.pem'), PAYPAL_CHAIN.stranger) }, { files })).toEqual([])
    expect(problemsOf({ acme: pinning(PAYPAL_CHAIN.leaf, file('/run/none.pem')) }, { files })).toEqual([
      'PROVIDERS.acme: certificates must be PEM, with RSA keys',
    ])
    expect(problemsOf({ acme: pinning(PAYPAL_CHAIN.leaf, file('/absent')) }, { files })).toEqual([
      'PROVIDERS.acme.certificates.1 cannot be read',
    ])
  })

  it('refuses two secrets of one id', () => {
    const secrets = [
      { id: 'a', value: secret },
      { id: 'a', value: `${secret}2` },
    ]
    expect(problemsOf({ acme: { ...hmac, secrets } })).toEqual(['PROVIDERS.acme: secret a is named twice'])
  })

  it('names every problem of every provider at once', () => {
    const problems = problemsOf({
      one: { ...hmac, secrets: [{ id: 'a', value: '' }] },
      two: stripe,
      three: {
        scheme: 'stripe',
        secrets: [
          { id: 'b', value: 'short' },
          { id: 'c', value: { env: 'ABSENT' } },
        ],
      },
      four: { ...hmac, signedText: '{timestamp}.{body}' },
    })
    expect(problems).toEqual([
      'PROVIDERS.one: secret a is empty',
      'PROVIDERS.three: secret c cannot be read',
      'PROVIDERS.three: secret b is shorter than 16 bytes',
      'PROVIDERS.four: signedText names a timestamp, timestampHeader or timestampPrefix is missing',
    ])
  })

  it.each([
    ['no JSON', '{"acme":', 'PROVIDERS is not valid JSON'],
    ['a provider twice', '{"acme":{},"acme":{}}', 'PROVIDERS has a name twice'],
    ['a name that is none', '{"__proto__":{}}', 'PROVIDERS has a property __proto__, which is not allowed'],
    ['an array', '[]', 'PROVIDERS invalid input: expected record, received array'],
    ['an unknown scheme', { acme: { ...hmac, scheme: 'md5' } }, 'PROVIDERS.acme.scheme'],
    ['a name that is no path segment', { 'ac/me': hmac }, 'PROVIDERS.ac/me'],
    ['no secrets', { acme: { ...hmac, secrets: [] } }, 'PROVIDERS.acme.secrets'],
    [
      'four secrets',
      { acme: { ...hmac, secrets: ['1', '2', '3', '4'].map((id) => ({ id, value: secret + id })) } },
      'PROVIDERS.acme.secrets',
    ],
    ['a secret without id', { acme: { ...hmac, secrets: [{ value: secret }] } }, 'PROVIDERS.acme.secrets.0.id'],
    [
      'a secret that is a number',
      { acme: { ...hmac, secrets: [{ id: 'a', value: 1 }] } },
      'PROVIDERS.acme.secrets.0.value',
    ],
    [
      'a time that is none',
      { acme: { ...hmac, secrets: [{ id: 'a', value: secret, notAfter: '2026-13-01' }] } },
      'PROVIDERS.acme.secrets.0.notAfter',
    ],
    [
      'a member that nobody knows',
      { acme: { ...hmac, tolerance: 300 } },
      'PROVIDERS.acme unrecognized key: "tolerance"',
    ],
    [
      'a pointer without a slash',
      { acme: { ...hmac, read: { order: 'data/id' } } },
      'PROVIDERS.acme.read.order must be a JSON Pointer (RFC 6901)',
    ],
    [
      'a pointer with a lone tilde',
      { acme: { ...hmac, read: { order: '/a~2' } } },
      'PROVIDERS.acme.read.order must be a JSON Pointer (RFC 6901)',
    ],
    [
      'a header with a blank',
      { acme: { ...hmac, header: 'x signature' } },
      'PROVIDERS.acme.header must be a header name',
    ],
    [
      'a stripe provider with settings of the generic scheme',
      { acme: { ...stripe, header: 'x' } },
      'PROVIDERS.acme unrecognized key: "header"',
    ],
    [
      'a shape that nobody knows',
      { acme: { scheme: 'standard-webhooks', effects: [], shape: 'flat', secrets: stripe.secrets } },
      'PROVIDERS.acme.shape',
    ],
  ])('refuses %s and names the place', (_, providers, place) => {
    const problems = problemsOf(providers)
    expect(problems.some((problem) => problem.startsWith(place))).toBe(true)
    expect(problems.join('\n')).not.toMatch(/canary/)
  })

  it.each([
    ['{body}', undefined, null],
    ['{timestamp}.{body}', 'x-time', null],
    ['v0:{timestamp}:{body}', 'x-time', null],
    ['POST{body}?{query}', undefined, null],
    ['{body}{timestamp}{timestamp}', 'x-time', '.signedText must contain {body} once'],
    ['{url}{body}', undefined, ': signedText names the URL, publicUrl is missing'],
    [
      '{query}{timestamp}{body}',
      'x-time',
      ': signedText needs a text that is no number between {timestamp} and {query}',
    ],
    ['{timestamp}1{query}{body}', 'x-time', ': signedText needs a text that is no number between'],
    ['{timestamp}.{body}', undefined, ': signedText names a timestamp, timestampHeader or timestampPrefix is missing'],
    ['{body}', 'x-time', ': signedText leaves the timestamp out'],
    ['{body}{body}', undefined, '.signedText must contain {body} once'],
    ['{body}.{id}', undefined, ': signedText names an id, idHeader is missing'],
  ])('checks the template %j with the header %s', (signedText, timestampHeader, problem) => {
    const problems = problemsOf({ acme: { ...hmac, signedText, timestampHeader } })
    if (problem === null) expect(problems).toEqual([])
    else expect(problems).toEqual([expect.stringContaining(`PROVIDERS.acme${problem}`)])
  })

  it.each([
    [{ timestampPrefix: 't=' }, 'timestampPrefix names an item of a list, separator is missing'],
    [
      { separator: ',', timestampPrefix: 't=', timestampHeader: 'x-time' },
      'timestampHeader and timestampPrefix exclude each other',
    ],
    [{ separator: ',', timestampPrefix: 'v=', prefix: 'v=' }, 'prefix and timestampPrefix are the same'],
    [{ separator: ',', prefix: 'v1,' }, 'prefix contains the separator'],
    [{ separator: ';', timestampPrefix: 't;' }, 'timestampPrefix contains the separator'],
    [{ publicUrl: 'https://example.com/' }, 'publicUrl is set, signedText leaves {url} out'],
  ])('refuses the list %j', (settings, problem) => {
    expect(problemsOf({ acme: { ...hmac, ...settings } })).toEqual([`PROVIDERS.acme: ${problem}`])
  })

  it('quotes no value, wherever a secret has been put by mistake', () => {
    const canary = 'whsec_canaryCANARYcanary'
    const wrong = fc.oneof(
      fc.constant(canary),
      fc.constant([canary]),
      fc.constant({ value: canary }),
      fc.constant([{ id: 'a', value: { file: 1, env: canary } }]),
      fc.constant([{ id: 'a', value: [canary] }]),
      fc.constant([{ id: 'a', value: canary, notAfter: canary }]),
    )
    const member = fc.constantFrom(
      ...['scheme', 'secrets', 'header', 'algorithm', 'encoding', 'prefix', 'timestampHeader', 'signedText'],
      ...['separator', 'timestampPrefix', 'publicUrl', 'secretEncoding', 'toleranceSeconds', 'maxBytes'],
      ...['acceptShortSecret', 'events', 'read', 'shape'],
      ...['effects', 'requireAmount', 'expect'],
    )
    fc.assert(
      fc.property(fc.dictionary(member, wrong), (members) => {
        expect(problemsOf({ acme: { ...hmac, ...members } }).join('\n')).not.toMatch(/canary/i)
        expect(problemsOf({ acme: members }).join('\n')).not.toMatch(/canary/i)
      }),
    )
    expect(problemsOf(`{"acme":{"secrets":"${canary}"`).join('\n')).not.toMatch(/canary/i)
    expect(problemsOf(`"${canary}"`).join('\n')).not.toMatch(/canary/i)
  })
})
