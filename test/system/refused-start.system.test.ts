import { once } from 'node:events'
import { createServer } from 'node:net'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { runToEnd, type Settings } from '../support/service-under-test.ts'
import { choosePlace } from '../support/stack.ts'
import { fulfilmentSettings, gatewaySettings, providersOf } from '../support/stack-settings.ts'
import { startStandaloneMongod } from '../support/standalone-mongod.ts'

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const place = await choosePlace(resources)
const client = resources.use(await new MongoClient(place.mongoUri).connect())
for (const name of [place.gatewayDb, place.fulfilmentDb])
  resources.defer(async () => void (await client.db(name).dropDatabase()))

type Service = 'gateway' | 'fulfilment'

const GOOD: Readonly<Record<Service, Settings>> = {
  gateway: gatewaySettings(place),
  fulfilment: fulfilmentSettings(place),
}
const SERVICES = ['gateway', 'fulfilment'] as const

/** The good settings with some in place of their own; null takes one away. */
function settingsOf(service: Service, changed: Readonly<Record<string, string | null>>): Settings {
  const merged = Object.entries({ ...GOOD[service], ...changed })
  return Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null))
}

/** Starts a service that is to refuse, and returns what it says: one line for each problem. */
async function refusal(service: Service, changed: Readonly<Record<string, string | null>>): Promise<string[]> {
  const { code, stdout, stderr } = await runToEnd({ name: service, settings: settingsOf(service, changed) })
  expect({ code, stderr }).toEqual({ code: 78, stderr: expect.stringMatching(/^(oncehook: .+\n)+$/) })
  expect(stdout).not.toContain('service.started')
  expect(stdout + stderr).not.toContain('at file:')
  for (const value of Object.values(changed)) {
    if (value !== null && value.length >= 8) expect(stdout + stderr, 'the value').not.toContain(value)
  }
  return stderr
    .trimEnd()
    .split('\n')
    .map((line) => line.slice('oncehook: '.length))
}

const WEAK_SECRETS: readonly (readonly [what: string, value: string | null, complaint: string])[] = [
  ['missing', null, 'is not set'],
  ['empty', '', 'is empty'],
  ['blank', ' '.repeat(40), 'is empty'],
  ['too short', 'c4n4ry-of-31-characters-exactly', 'is shorter than 32 characters'],
  ['a sample', 'changeme-changeme-changeme-changeme', 'is a sample placeholder'],
  ['a sample in capitals', 'YOUR_SECRET_COMES_HERE_0123456789', 'is a sample placeholder'],
  ['one character repeated', 'x'.repeat(64), 'is a sample placeholder'],
]

describe.each(SERVICES)('%s', (service) => {
  it.each(WEAK_SECRETS)('refuses to start with a service token secret that is %s', async (_, value, complaint) => {
    expect(await refusal(service, { SERVICE_TOKEN_SECRET: value })).toEqual([`SERVICE_TOKEN_SECRET ${complaint}`])
  })

  it('refuses to start without the address of a database', async () => {
    expect(await refusal(service, { MONGODB_URI: null })).toEqual(['MONGODB_URI is not set'])
  })

  it.each([
    ['that is none', 'postgres://canary:canary@127.0.0.1/x', 'must begin with mongodb:// or mongodb+srv://'],
    ['that is malformed', 'mongodb://canary:canary@127.0.0.1:99999999/', 'cannot be parsed'],
  ])('refuses to start with a database address %s', async (_, value, complaint) => {
    expect(await refusal(service, { MONGODB_URI: value })).toEqual([`MONGODB_URI ${complaint}`])
  })

  it.each([
    ['below majority', 'w=1', 'asks for a write concern below majority'],
    ['of nobody', 'w=0', 'asks for a write concern below majority'],
    ['without a journal', 'journal=false', 'switches the journal off'],
  ])('refuses to start with a write concern %s', async (_, option, complaint) => {
    const value = `${place.mongoUri}${place.mongoUri.includes('?') ? '&' : '?'}${option}`
    expect(await refusal(service, { MONGODB_URI: value })).toEqual([`MONGODB_URI ${complaint}`])
  })

  it('refuses to start on a MongoDB that stands alone', async () => {
    await using standalone = await startStandaloneMongod()
    expect(await refusal(service, { MONGODB_URI: standalone.uri })).toEqual([
      'MONGODB_URI names a standalone server: a replica set is needed, one member is enough',
    ])
  })

  it('names every wrong setting at once, each on a line of its own', async () => {
    const port = service === 'gateway' ? 'GATEWAY_PORT' : 'FULFILMENT_PORT'
    const wrong = { [port]: 'canary-of-a-port', SERVICE_TOKEN_SECRET: null, LOG_LEVEL: 'canary-of-a-level' }
    expect((await refusal(service, wrong)).toSorted()).toEqual(
      [
        'LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent',
        'SERVICE_TOKEN_SECRET is not set',
        `${port} must be a whole number from 0 to 65535`,
      ].toSorted(),
    )
  })

  it.each(['GATEWAY_PORT', 'ADMIN_PORT', 'FULFILMENT_PORT'].filter((name) => name in GOOD[service]))(
    'refuses to start when the port of %s is taken',
    async (name) => {
      const other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      const { port } = other.address() as { port: number }
      expect(await refusal(service, { [name]: String(port) })).toEqual([
        `Address 127.0.0.1:${port} is taken by another process`,
      ])
      other.close()
    },
  )

  it('refuses to start when an index that it needs has another shape', async () => {
    const name = `${place.gatewayDb}_${service}`
    const db = client.db(name)
    resources.defer(async () => void (await db.dropDatabase()))
    const [setting, collection, index] =
      service === 'gateway'
        ? (['GATEWAY_DB', 'events', 'provider_event'] as const)
        : (['FULFILMENT_DB', 'orders', 'payment_pays_one_order'] as const)
    await db.collection(collection).createIndex({ other: 1 }, { name: index })
    const [problem, ...more] = await refusal(service, { [setting]: name })
    expect(problem).toMatch(`Index ${index} of ${collection} has another shape`)
    expect(more).toEqual([])
  })
})

describe('gateway', () => {
  const providers = providersOf(place.secrets)
  const withAcme = (acme: object): string => JSON.stringify({ ...providers, acme })
  const withSecret = (value: unknown): string =>
    withAcme({ scheme: 'standard-webhooks', secrets: [{ id: 'only', value }] })

  it.each([
    ['empty', '', 'is empty'],
    ['blank', '    ', 'is empty'],
    ['a bare prefix', 'whsec_', 'is empty'],
    ['not base64', 'whsec_canary-of-a-secret-that-is-no-base64', 'is not whsec_ and base64'],
    ['too short', `whsec_${Buffer.from('canary-of-15-by').toString('base64')}`, 'is shorter than 16 bytes'],
    ['a sample', 'whsec_your-secret-your-secret-your-secret', 'is a sample placeholder'],
    ['in a file that is not there', { file: '/nowhere/at/all' }, 'cannot be read'],
    ['in a variable that is not set', { env: 'NOT_SET_AT_ALL' }, 'cannot be read'],
  ])('refuses to start with a provider whose secret is %s', async (_, value, complaint) => {
    const [problem, ...more] = await refusal('gateway', { PROVIDERS: withSecret(value) })
    expect(problem).toBe(`PROVIDERS.acme: secret only ${complaint}`)
    expect(more).toEqual([])
    if (typeof value === 'string') expect(problem).not.toContain(value || 'nothing')
  })

  it.each([
    ['no providers', null, 'PROVIDERS is not set'],
    ['providers that are no JSON', '{"acme": canary', 'PROVIDERS is not valid JSON'],
    ['a provider without secrets', withAcme({ scheme: 'standard-webhooks', secrets: [] }), 'PROVIDERS.acme.secrets'],
    ['a scheme that nobody knows', withAcme({ scheme: 'canary-of-a-scheme', secrets: [] }), 'PROVIDERS.acme.scheme'],
  ])('refuses to start with %s', async (_, value, complaint) => {
    const [problem, ...more] = await refusal('gateway', { PROVIDERS: value })
    expect(problem).toContain(complaint)
    expect(more).toEqual([])
  })

  it.each(['API_TOKENS', 'OPERATOR_TOKENS'])('refuses to start with weak %s', async (name) => {
    const tokens = { first: 'canary-too-short', second: 'changeme-changeme-changeme-changeme', third: '' }
    const problems = await refusal('gateway', { [name]: JSON.stringify(tokens) })
    expect(problems.map((line) => line.replace(/^\S+ has a token of (\w+) that (.*)$/, '$1: $2'))).toEqual([
      'first: is shorter than 32 characters',
      'second: is a sample placeholder',
      'third: is empty',
    ])
    for (const token of Object.values(tokens).filter(Boolean)) expect(problems.join()).not.toContain(token)
  })

  it('refuses to start with an address of fulfilment that is none', async () => {
    expect(await refusal('gateway', { FULFILMENT_URL: 'ftp://canary' })).toEqual([
      'FULFILMENT_URL must be a URL that begins with http:// or https://',
    ])
  })
})

describe('fulfilment', () => {
  it('refuses to start with a receipt sink that nobody knows', async () => {
    const [problem, ...more] = await refusal('fulfilment', { RECEIPT_SINK: 'canary-by-pigeon:loft' })
    expect(problem).toMatch(/^RECEIPT_SINK must begin with log: or file:/)
    expect(more).toEqual([])
  })
})
