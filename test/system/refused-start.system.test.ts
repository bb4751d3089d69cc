import { once } from 'node:events'
import { createServer } from 'node:net'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { startStandaloneMongod } from '../support/mongod/standalone-mongod.ts'
import { runToEnd, type Settings } from '../support/stack/service-under-test.ts'
import { choosePlace } from '../support/stack/stack.ts'
import { fulfilmentSettings, gatewaySettings } from '../support/stack/stack-settings.ts'

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

function standardWebhooks(secrets: object[]): object {
  return { scheme: 'standard-webhooks', effects: [], secrets }
}

/** The valid settings with some replaced; null removes one. */
function settingsOf(service: Service, changed: Readonly<Record<string, string | null>>): Settings {
  const merged = Object.entries({ ...GOOD[service], ...changed })
  return Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null))
}

/** Starts a service that must refuse to start, and returns its output: one line for each problem. */
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

// Every start of a process costs a second on a busy machine, so one start has all faults that are possible together.
const WEAK_SECRETS: readonly (readonly [what: string, value: string | null, complaint: string])[] = [
  ['missing', null, 'is not set'],
  ['blank', ' '.repeat(40), 'is empty'],
  ['too short', 'c4n4ry-of-31-characters-exactly', 'is shorter than 32 characters'],
  ['a sample', 'CHANGEME-changeme-CHANGEME-changeme', 'is a sample placeholder'],
]

const WRONG_SETTINGS = {
  gateway: {
    GATEWAY_PORT: ['canary-of-a-port', 'must be a whole number from 0 to 65535'],
    LEASE_MS: ['-1', 'must be a whole number from 100 to 3600000'],
    FULFILMENT_URL: ['ftp://canary', 'must be a URL that begins with http:// or https://'],
    FULFILMENT_TLS_CA: ['canary-of-an-authority', 'is not one or more certificates in PEM'],
  },
  fulfilment: {
    FULFILMENT_PORT: ['65536', 'must be a whole number from 0 to 65535'],
    FULFILMENT_TLS_CLIENT_CA: ['canary-of-an-authority', 'is not one or more certificates in PEM'],
    IDEMPOTENCY_TTL_SECONDS: ['canary-of-a-time', 'must be a whole number from 1 to 2592000'],
    RECEIPT_SINK: ['canary-by-pigeon:loft', expect.stringMatching(/^must begin with log: or file:/)],
  },
} as const

describe.each(SERVICES)('%s', (service) => {
  it.each(WEAK_SECRETS)(
    'BP-47: refuses to start with a service token secret that is %s',
    async (_, value, complaint) => {
      expect(await refusal(service, { SERVICE_TOKEN_SECRET: value })).toEqual([`SERVICE_TOKEN_SECRET ${complaint}`])
    },
  )

  it('names every wrong setting at once, each on a separate line', async () => {
    const both = {
      MONGODB_URI: [null, 'is not set'],
      ENCRYPTION_KEYS_FILE: ['/nowhere/canary-of-keys', 'cannot be read (ENOENT)'],
      LOG_LEVEL: ['canary-of-a-level', 'must be one of trace, debug, info, warn, error, fatal, silent'],
    } as const
    const wrong = Object.entries({ ...both, ...WRONG_SETTINGS[service] })
    const problems = await refusal(service, Object.fromEntries(wrong.map(([name, [value]]) => [name, value])))
    const told = problems.map((line) => line.split(/ (.*)/, 2))
    expect(told.toSorted()).toEqual(wrong.map(([name, [, complaint]]) => [name, complaint]).toSorted())
  })

  it('refuses to start with a database address that is malformed', async () => {
    const value = 'mongodb://canary:canary@127.0.0.1:99999999/'
    expect(await refusal(service, { MONGODB_URI: value })).toEqual(['MONGODB_URI cannot be parsed'])
  })

  it('refuses to start with a write concern below a journaled majority', async () => {
    const value = `${place.mongoUri}${place.mongoUri.includes('?') ? '&' : '?'}w=1&journal=false`
    expect(await refusal(service, { MONGODB_URI: value })).toEqual([
      'MONGODB_URI sets a write concern below majority',
      'MONGODB_URI disables the journal',
    ])
  })

  it('refuses to start when the address asks for reads from other nodes', async () => {
    const value = `${place.mongoUri}${place.mongoUri.includes('?') ? '&' : '?'}readPreference=nearest&readConcernLevel=available`
    expect(await refusal(service, { MONGODB_URI: value })).toEqual([
      'MONGODB_URI sets another read preference: remove it or set readPreference=primary',
      'MONGODB_URI sets another read concern: remove it or set readConcernLevel=majority',
    ])
  })

  it('FP-30: refuses to start on a standalone MongoDB', async () => {
    await using standalone = await startStandaloneMongod()
    expect(await refusal(service, { MONGODB_URI: standalone.uri })).toEqual([
      'MONGODB_URI names a standalone server: a replica set is required, one member is enough',
    ])
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

  it('FP-29: refuses to start when an index that it needs has another shape', async () => {
    const { db, setting, collection, index } = ownDatabase(service, 'shape')
    await db.collection(collection).createIndex({ other: 1 }, { name: index })
    const [problem, ...more] = await refusal(service, setting)
    expect(problem).toMatch(`Index ${index} of ${collection} has another shape`)
    expect(more).toEqual([])
  })

  it('FP-29: refuses to start if duplicates prevent its unique index', async () => {
    const { db, setting, collection, index, twice } = ownDatabase(service, 'twice')
    await db.collection<{ _id: string }>(collection).insertMany(['a', 'b'].map((_id) => ({ _id, ...twice })))
    const problems = await refusal(service, setting)
    expect(problems).toEqual([`Index ${index} of ${collection} cannot be created: duplicates already exist`])
    const made = await db.collection(collection).indexes()
    expect(made.map(({ name }) => name)).not.toContain(index)
  })
})

const UNIQUE_INDEX = {
  gateway: {
    name: 'GATEWAY_DB',
    collection: 'events',
    index: 'provider_event',
    twice: { provider: 'acme', eventId: 'canary-of-an-event' },
  },
  fulfilment: {
    name: 'FULFILMENT_DB',
    collection: 'orders',
    index: 'payment_pays_one_order',
    twice: { paidBy: { provider: 'acme', id: 'canary-of-a-payment' } },
  },
} as const

/** A database that no other test uses, and the unique index that the service will create there. */
function ownDatabase(service: Service, purpose: string) {
  const { name, ...wanted } = UNIQUE_INDEX[service]
  const db = client.db(`${place.gatewayDb}_${service}_${purpose}`)
  resources.defer(async () => void (await db.dropDatabase()))
  return { db, setting: { [name]: db.databaseName }, ...wanted }
}

/** Secrets of a provider that signs by Standard Webhooks, each with the complaint about it. */
const WEAK_PROVIDER_SECRETS: Readonly<Record<string, readonly [value: unknown, complaint: string]>> = {
  empty: ['', 'is empty'],
  blank: ['    ', 'is empty'],
  bare: ['whsec_', 'is empty'],
  'no-base64': ['whsec_canary-of-a-secret-that-is-no-base64', 'is not whsec_ followed by base64'],
  short: [`whsec_${Buffer.from('canary-of-15-by').toString('base64')}`, 'is shorter than 16 bytes'],
  sample: ['whsec_your-secret-your-secret-your-secret', 'is a sample placeholder'],
  'no-file': [{ file: '/nowhere/at/all' }, 'cannot be read'],
  'no-variable': [{ env: 'NOT_SET_AT_ALL' }, 'cannot be read'],
}

describe('fulfilment, for its own settings,', () => {
  it('refuses to start with an unusable file for receipts, and says what to set', async () => {
    expect(await refusal('fulfilment', { RECEIPT_SINK: `file:${import.meta.filename}/receipts.jsonl` })).toEqual([
      expect.stringMatching(
        /^RECEIPT_SINK names a file that cannot be opened for writing \(E[A-Z]+\)\. .* RECEIPT_SINK=file:<path> /,
      ),
    ])
  })
})

describe('gateway, for its own settings,', () => {
  it('BP-47: refuses to start with invalid provider secrets, and names each', async () => {
    const weak = Object.entries(WEAK_PROVIDER_SECRETS)
    const providers = weak.map(([name, [value]]) => [name, standardWebhooks([{ id: 'only', value }])])
    const problems = await refusal('gateway', { PROVIDERS: JSON.stringify(Object.fromEntries(providers)) })
    expect(problems).toEqual(weak.map(([name, [, complaint]]) => `PROVIDERS.${name}: secret only ${complaint}`))
    expect(problems.join()).not.toMatch(/canary|your-secret|Y2FuYXJ5|nowhere|NOT_SET/)
  })

  it('refuses to start with providers that cannot be, and names each', async () => {
    const providers = { bare: standardWebhooks([]), strange: { scheme: 'canary-of-a-scheme', secrets: [] } }
    const problems = await refusal('gateway', { PROVIDERS: JSON.stringify(providers) })
    expect(problems).toEqual([expect.stringContaining('PROVIDERS.bare'), expect.stringContaining('PROVIDERS.strange')])
    expect(problems.join()).not.toContain('canary')
  })

  it.each([
    ['no providers', null, 'PROVIDERS is not set'],
    ['providers that are no JSON', '{"acme": canary', 'PROVIDERS is not valid JSON'],
  ])('refuses to start with %s', async (_, value, complaint) => {
    expect(await refusal('gateway', { PROVIDERS: value })).toEqual([complaint])
  })

  it('refuses to start if test events have effects and others can reach it', async () => {
    expect(await refusal('gateway', { TEST_EVENTS: 'apply', GATEWAY_HOST: '0.0.0.0' })).toEqual([
      'TEST_EVENTS can be apply only if GATEWAY_HOST and ADMIN_HOST are loopback addresses',
    ])
  })

  it('refuses to start with weak tokens, and names their holders', async () => {
    const tokens = { first: 'canary-too-short', second: 'changeme-changeme-changeme-changeme', third: '' }
    const settings = { API_TOKENS: JSON.stringify(tokens), OPERATOR_TOKENS: JSON.stringify(tokens) }
    const problems = await refusal('gateway', settings)
    expect(problems.toSorted()).toEqual(
      Object.keys(settings).flatMap((name) => [
        `${name} has a token of first that is shorter than 32 characters`,
        `${name} has a token of second that is a sample placeholder`,
        `${name} has a token of third that is empty`,
      ]),
    )
    expect(problems.join()).not.toMatch(/canary|changeme/)
  })
})
