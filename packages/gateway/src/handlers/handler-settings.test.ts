import { randomBytes } from 'node:crypto'
import { settingsProblems } from '@oncehook/kernel/testing/settings-problems'
import { describe, expect, it } from 'vitest'
import { readHandlers } from './handler-settings.ts'

const SECRET = `whsec_${randomBytes(32).toString('base64')}`
const sources = { readEnv: (name: string) => (name === 'SECRET' ? SECRET : undefined), readFile: () => SECRET }
const secrets = [{ id: '1', value: SECRET }]
const events = [{ types: ['invoice.*'] }]
const valid = { https: 'https://shop.example/webhooks', secrets, events }

function read(handlers: unknown) {
  return readHandlers(JSON.stringify(handlers), sources)
}

function problems(handlers: unknown): readonly string[] {
  return settingsProblems(() => read(handlers))
}

describe('readHandlers', () => {
  it('reads a handler that is called by https, with its defaults', () => {
    const handler = read({ shop: valid }).get('shop')
    expect(handler).toMatchObject({
      ...{ name: 'shop', events, concurrency: 8, batch: 1, ratePerSecond: null, timeoutMs: 10_000 },
      ...{ orderBy: null, blockOnDead: false },
      ...{ maxAgeMs: null, paused: false, place: { by: 'https', mayBePrivate: false, keys: [{ notAfter: null }] } },
    })
    expect(handler?.place.url.href).toBe('https://shop.example/webhooks')
  })

  it('reads where the value is whose tasks are sent in order', () => {
    const ordered = { ...valid, orderBy: '/data/object/id', blockOnDead: true }
    expect(read({ shop: ordered }).get('shop')).toMatchObject({ orderBy: '/data/object/id', blockOnDead: true })
  })

  it.each([{ env: 'SECRET' }, { file: '/run/secrets/shop' }])('reads a secret that is elsewhere: %o', (value) => {
    const [key] = keysOf({ ...valid, secrets: [{ id: '1', value }] })
    expect(key?.key.export().toString('base64')).toBe(SECRET.slice('whsec_'.length))
  })

  it('reads when a secret ends', () => {
    const notAfter = '2026-11-30T12:00:00Z'
    expect(keysOf({ ...valid, secrets: [{ id: '1', value: SECRET, notAfter }] })[0]?.notAfter).toBe(
      Date.parse(notAfter),
    )
  })

  function keysOf(handler: unknown) {
    const place = read({ shop: handler }).get('shop')?.place
    return place?.by === 'https' ? place.keys : []
  }

  it('changes the fingerprint with any setting and with the text of a secret only', () => {
    const fingerprint = (handler: unknown) => read({ shop: handler }).get('shop')?.fingerprint
    expect(fingerprint(valid)).toBe(fingerprint({ ...valid }))
    expect(fingerprint(valid)).not.toBe(fingerprint({ ...valid, concurrency: 9 }))
    const other = [{ id: '1', value: `whsec_${randomBytes(32).toString('base64')}` }]
    expect(fingerprint(valid)).not.toBe(fingerprint({ ...valid, secrets: other }))
  })

  it.each([
    ['http://localhost:3000/hook', true],
    ['http://127.0.0.1:3000/hook', true],
    ['https://10.0.0.5/hook', true],
    ['http://shop.example/hook', false],
    ['https://user:pass@shop.example/hook', false],
    ['shop.example/hook', false],
  ])('takes the address %s: %s', (https, isTaken) => {
    const found = isTaken ? read({ shop: { ...valid, https } }).size : problems({ shop: { ...valid, https } })
    expect(found).toEqual(isTaken ? 1 : [expect.stringMatching(/^HANDLERS\.shop https must be a URL that begins with/)])
  })

  it.each<[string, unknown, RegExp]>([
    ['the built-in handler', { fulfilment: valid }, /^HANDLERS\.fulfilment is built in/],
    ['a name that is none', { 'My Shop': valid }, /^HANDLERS\.My Shop/],
    ['no address', { shop: { events } }, /^HANDLERS\.shop needs either "https": "https:/],
    ['two addresses', { shop: { ...valid, trpc: 'http://a/trpc' } }, /needs either/],
    ['no secret', { shop: { https: valid.https, events } }, /secrets is required with https: add "secrets": \[/],
    ['a secret for trpc', { shop: { trpc: 'http://a/trpc', secrets, events } }, /secrets are for https/],
    ['a batch of none', { shop: { ...valid, batch: 0 } }, /batch/],
    ['no events', { shop: { ...valid, events: [] } }, /^HANDLERS\.shop\.events/],
    ['an asterisk in the middle', { shop: { ...valid, events: [{ types: ['a.*.b'] }] } }, /types\.0 must be a type/],
    ['an asterisk within a name', { shop: { ...valid, events: [{ types: ['inv*'] }] } }, /types\.0 must be a type/],
    ['a wrong pointer', { shop: { ...valid, events: [{ types: ['*'], where: { a: 1 } }] } }, /JSON Pointer/],
    [
      'an order by no pointer',
      { shop: { ...valid, orderBy: 'data.id' } },
      /^HANDLERS\.shop\.orderBy must be a JSON Pointer/,
    ],
    [
      'blocking without an order',
      { shop: { ...valid, blockOnDead: true } },
      /^HANDLERS\.shop blockOnDead is for orderBy: add/,
    ],
    ['an unknown property', { shop: { ...valid, retries: 3 } }, /^HANDLERS\.shop unrecognized key/],
    ['too much concurrency', { shop: { ...valid, concurrency: 65 } }, /^HANDLERS\.shop\.concurrency/],
    ['a short secret', { shop: { ...valid, secrets: [{ id: '1', value: 'whsec_abcd' }] } }, /secret 1 is not whsec_/],
    ['a sample', { shop: { ...valid, secrets: [{ id: '1', value: 'changeme' }] } }, /secret 1 is a sample/],
    ['a missing secret', { shop: { ...valid, secrets: [{ id: '1', value: { env: 'NO' } }] } }, /cannot be read/],
    ['an id twice', { shop: { ...valid, secrets: [...secrets, ...secrets] } }, /secret 1 is named twice/],
  ])('refuses %s', (_, handlers, problem) => {
    expect(problems(handlers)).toEqual([expect.stringMatching(problem)])
  })

  it('names the problems of all handlers at once, and no secret', () => {
    const wrong = { ...valid, secrets: [{ id: '1', value: 'whsec_canary' }] }
    const found = problems({ one: wrong, two: wrong })
    expect(found).toHaveLength(2)
    expect(found.join()).not.toContain('canary')
  })
})
