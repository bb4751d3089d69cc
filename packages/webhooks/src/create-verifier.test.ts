import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createVerifier, type VerifierOptions, VerifierSettingsError } from './create-verifier.ts'
import { SCHEMES } from './schemes/schemes.ts'
import { readVectorFiles } from './testing/vectors.ts'

const files = readVectorFiles()

describe('the vectors', () => {
  it('are there for every scheme', () => {
    expect(files.map(({ scheme }) => scheme).toSorted()).toEqual([...SCHEMES.keys()].toSorted())
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
