import { ensureFormat } from '@oncehook/kernel/mongo/database-format'
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

/** The valid settings with some replaced; null removes one. */
function settingsOf(service: Service, changed: Readonly<Record<string, string | null>>): Settings {
  const merged = Object.entries({ ...GOOD[service], ...changed })
  return Object.fromEntries(merged.filter((entry): entry is [string, string] => entry[1] !== null))
}

/** Starts a service that must refuse to start, and returns its output: one line for each problem. */
async function refusal(service: Service, changed: Readonly<Record<string, string | null>>): Promise<string[]> {
  const { code, stdout, stderr } = await runToEnd(service, settingsOf(service, changed))
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

const SAMPLE = 'CHANGEME-changeme-CHANGEME-changeme'
const WRONG = {
  both: {
    MONGODB_URI: [null, 'is not set'],
    ENCRYPTION_KEYS_FILE: ['/nowhere/canary-of-keys', 'cannot be read (ENOENT)'],
    LOG_LEVEL: ['canary-of-a-level', 'must be one of trace, debug, info, warn, error, fatal, silent'],
  },
  gateway: {
    SERVICE_PRIVATE_KEY: [SAMPLE, expect.stringMatching(/^is no private Ed25519 key in PEM/)],
    GATEWAY_PORT: ['canary-of-a-port', 'must be a whole number from 0 to 65535'],
    LEASE_MS: ['-1', 'must be a whole number from 100 to 3600000'],
    FULFILMENT_URL: ['ftp://canary', 'must be a URL that begins with http:// or https://'],
    FULFILMENT_TLS_CA: ['canary-of-an-authority', 'is not one or more certificates in PEM'],
    PROVIDERS: ['{"acme": canary', 'is not valid JSON'],
    API_TOKENS: [JSON.stringify({ shop: SAMPLE }), 'has a token of shop that is a sample placeholder'],
    OPERATOR_TOKENS: [
      JSON.stringify({ eve: 'canary-too-short' }),
      'has a token of eve that is shorter than 32 characters',
    ],
  },
  fulfilment: {
    SERVICE_PUBLIC_KEYS: [SAMPLE, expect.stringMatching(/^must be one to 5 public Ed25519 keys in PEM/)],
    FULFILMENT_PORT: ['65536', 'must be a whole number from 0 to 65535'],
    FULFILMENT_TLS_CLIENT_CA: ['canary-of-an-authority', 'is not one or more certificates in PEM'],
    IDEMPOTENCY_TTL_SECONDS: ['canary-of-a-time', 'must be a whole number from 1 to 2592000'],
    RECEIPT_SINK: ['canary-by-pigeon:loft', expect.stringMatching(/^must begin with log: or file:/)],
  },
} as const

const standalone = resources.use(await startStandaloneMongod())

// Which values are wrong is decided, and tested, where they are read. Here the process names them and refuses to start.
describe.each(SERVICES)('the service %s', (service) => {
  it('BP-47: refuses to start with wrong settings and samples, and names each on a separate line', async () => {
    const wrong = Object.entries({ ...WRONG.both, ...WRONG[service] })
    const problems = await refusal(service, Object.fromEntries(wrong.map(([name, [value]]) => [name, value])))
    const told = problems.map((line) => line.split(/ (.*)/, 2))
    expect(told.toSorted()).toEqual(wrong.map(([name, [, complaint]]) => [name, complaint]).toSorted())
    expect(problems.join()).not.toMatch(/canary|changeme/i)
  })

  it('FP-30: refuses to start on a standalone MongoDB', async () => {
    expect(await refusal(service, { MONGODB_URI: standalone.uri })).toEqual([
      'MONGODB_URI names a standalone server: a replica set is required, one member is enough',
    ])
  })

  it('refuses to start with a database of an earlier version, and says what to do', async () => {
    const { db, setting, collection, name } = ownDatabase(service, 'old')
    await db.collection(collection).insertOne({})
    expect(await refusal(service, setting)).toEqual([
      `${name} names a database of an earlier version: drop it, or name another one`,
    ])
  })

  it('FP-29: refuses to start if duplicates prevent its unique index', async () => {
    const { db, setting, collection, index, twice, name } = ownDatabase(service, 'twice')
    await ensureFormat(db, { collection, setting: name })
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
    index: 'task_key',
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
  const wanted = UNIQUE_INDEX[service]
  const db = client.db(`${place.gatewayDb}_${service}_${purpose}`)
  resources.defer(async () => void (await db.dropDatabase()))
  return { db, setting: { [wanted.name]: db.databaseName }, ...wanted }
}
