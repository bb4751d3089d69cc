import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createVerifier, type VerifierOptions, VerifierSettingsError } from './create-verifier.ts'
import { SCHEMES } from './schemes/schemes.ts'
import { demandedSettings } from './testing/make-provider.ts'
import { deliveryOf, providerOf, readVectorFiles, type Vector } from './testing/vectors.ts'

/** The options that a vector is verified with. A vector may hold any settings, so that the compiler cannot know them. */
function optionsOf(scheme: string, { settings, secret, notAfter }: Vector): VerifierOptions {
  const secrets = [{ id: 's1', value: secret, ...(notAfter === undefined ? {} : { notAfter: new Date(notAfter) }) }]
  return {
    ...{ scheme, acceptShortSecret: true, ...demandedSettings(scheme), ...settings },
    ...(secret === '' ? {} : { secrets }),
  } as VerifierOptions
}

/** Nobody answers: a scheme that must ask its provider cannot decide. */
const offline = (): Promise<never> => Promise.reject(new Error('offline'))

const files = readVectorFiles()

describe('the vectors', () => {
  it('are there for every scheme', () => {
    expect(files.map(({ scheme }) => scheme).toSorted()).toEqual([...SCHEMES.keys()].toSorted())
  })
})

describe.each(files)('a verifier of $scheme', ({ scheme, cases }) => {
  it('returns the expected result for every vector', async () => {
    for (const vector of cases) {
      const verifier = createVerifier(optionsOf(scheme, vector), { now: () => vector.now * 1_000, fetch: offline })
      const { rawBody, rawHeaders, query } = deliveryOf(vector)
      const result = await verifier.verify({ rawBody, headers: rawHeaders, url: `/webhooks?${query}` })
      const { refusedItems } = result.outcome === 'verified' ? result : {}
      const expected = vector.refusedItems === undefined ? vector.verdict : 'accepted'
      expect([vector.why, result.outcome === 'refused' ? 'refused' : 'accepted']).toEqual([vector.why, expected])
      expect([refusedItems, result.status === 401]).toEqual([vector.refusedItems, vector.verdict === 'refused'])
    }
  })

  it('reads the events that the gateway reads', async () => {
    for (const vector of cases.filter(({ verdict }) => verdict === 'accepted')) {
      const now = vector.now * 1_000
      const provider = providerOf(scheme, vector)
      if (provider.confirm !== undefined) continue
      const delivery = deliveryOf(vector)
      const verifier = createVerifier(optionsOf(scheme, vector), { now: () => now, fetch: offline })
      const result = await verifier.verify({ ...delivery, headers: delivery.rawHeaders, url: `?${delivery.query}` })
      if (result.outcome !== 'verified') continue
      const verified = await provider.verify(delivery, now, offline)
      expect(result.events).toEqual('refused' in verified ? null : provider.readEvents(verified))
      expect(result.secretId).toBe('s1')
    }
  })
})

describe('the options', () => {
  it('are refused at once, with every problem and no secret', () => {
    const make = () =>
      createVerifier({
        ...{ scheme: 'stripe', secrets: ['whsec_short', { id: '1', value: 'whsec_changeme_0123456789' }] },
        events: { 'charge.succeeded': 'payment.succeeded' },
        effects: [],
      })
    expect(make).toThrow('secret 1 is named twice')
    expect(make).toThrow('is a sample placeholder')
    expect(make).toThrow('"effects": ["payment.succeeded"]')
    expect(make).not.toThrow(/changeme|whsec/)
  })

  const value = 'a_secret_of_the_notification'
  const ofList = 'secrets: must be text, or a list of texts and of objects'
  const ofItem = 'secrets.0: must be text, or an object with value (text) and at most id (text) and notAfter (a Date)'

  it.each([
    ['null', null, ofList],
    ['bytes', Buffer.from(value), ofList],
    ['an object', { value }, ofList],
    ['a value of bytes', [{ value: Buffer.from(value) }], ofItem],
    ['an expiry as text', [{ value, notAfter: '2026-11-01' }], ofItem],
    ['a misspelt expiry', [{ value, expires: new Date(0) }], ofItem],
  ])('are refused with secrets that are %s, beside the other problems', (_, secrets, problem) => {
    const make = (options: object) => () => createVerifier({ scheme: 'stripe', secrets, ...options } as never)
    expect(make({})).toThrow(new VerifierSettingsError([problem]))
    expect(make({ morse: 1 })).toThrow(new VerifierSettingsError(['Unrecognized key: "morse"', problem]))
    expect(make({ scheme: 'morse' })).toThrow(new VerifierSettingsError(['scheme is unknown', problem]))
  })

  it('name what is missing', () => {
    const options = { scheme: 'square', secrets: 'a_secret_of_the_notification' }
    expect(() => createVerifier(options as VerifierOptions)).toThrow('publicUrl')
    expect(() => createVerifier({ ...options, scheme: 'morse' } as never)).toThrow('scheme is unknown')
  })
})

describe('a raw body', () => {
  const { secret, now, headers, body } = files.find(({ scheme }) => scheme === 'stripe')?.cases[0] ?? ({} as never)
  const bytes = Uint8Array.from(Buffer.from(body, 'base64'))
  const foreign = (code: string): never => runInNewContext(`(bytes) => ${code}`)([...bytes]) as never

  it.each<[string, Uint8Array | ArrayBuffer | string]>([
    ['text', new TextDecoder().decode(bytes)],
    ['a Buffer', Buffer.from(bytes)],
    ['a Uint8Array', bytes],
    ['an ArrayBuffer, as a request of the fetch standard has it', bytes.buffer],
    ['an ArrayBuffer of another realm', foreign('Uint8Array.from(bytes).buffer')],
    ['a DataView', new DataView(bytes.buffer) as never],
  ])('may be %s', async (_, rawBody) => {
    const verifier = createVerifier({ scheme: 'stripe', secrets: secret }, { now: () => now * 1_000 })
    expect((await verifier.verify({ rawBody, headers: headers.flat() })).outcome).toBe('verified')
  })

  it.each([
    ['a parsed object', JSON.parse(Buffer.from(bytes).toString())],
    ['a Buffer that was serialised', JSON.parse(JSON.stringify(Buffer.from(bytes)))],
  ])('that is %s is an error that says what it must be', async (_, rawBody) => {
    const verifier = createVerifier({ scheme: 'stripe', secrets: secret })
    await expect(verifier.verify({ rawBody, headers: [] })).rejects.toThrow('the bytes or the text of the body')
  })
})
