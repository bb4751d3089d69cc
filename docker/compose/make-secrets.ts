// Generates the secrets of a compose project at its first `up`, and gives each container a volume with only those that it needs.
// Runs at every `up`, as root with three capabilities and no network: it keeps existing secrets and applies the files of docker/own.
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

const VOLUMES = '/volumes'
const OWN = '/own'
const SERVICE_USER = 10_001 // that of our images
const MONGO_USER = Number(process.env.MONGO_USER)
const MEMBERS = String(process.env.MONGO_MEMBERS)

type Content = string | Uint8Array

/** The files of each volume: their owner may read them, and nobody may write. */
interface Volume {
  readonly user: number
  readonly files: Readonly<Record<string, Content>>
}

const SECRETS = [
  'mongoKey',
  'adminPassword',
  'gatewayPassword',
  'fulfilmentPassword',
  'serviceKey',
  'apiToken',
  'operatorToken',
  'acme',
  'receipts',
] as const

type Secrets = Record<(typeof SECRETS)[number], string>

const secrets = readSecrets(join(VOLUMES, 'setup', 'secrets.json'))
for (const [name, volume] of Object.entries(volumes(secrets))) fill(join(VOLUMES, name), volume)

/** The secrets of the first `up`, and new ones that a newer version also needs. */
function readSecrets(path: string): Secrets {
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Partial<Secrets>) : {}
  const all = SECRETS.map((name) => [name, known[name] ?? make(name)])
  const secrets = Object.fromEntries(all) as Secrets
  write(path, { content: JSON.stringify(secrets), user: 0 })
  return secrets
}

/** Random bytes, or the private key with which the gateway signs its calls. */
function make(name: keyof Secrets): string {
  if (name !== 'serviceKey') return randomBytes(32).toString('hex')
  return String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
}

function volumes(secrets: Secrets): Record<string, Volume> {
  const acme = toWebhookSecret(secrets.acme)
  const standard = {
    scheme: 'standard-webhooks',
    effects: ['payment.succeeded', 'payment.failed'],
    secrets: [{ id: 'made', value: { file: '/run/secrets/acme' } }],
  }
  const publicKey = String(createPublicKey(secrets.serviceKey).export({ type: 'spki', format: 'pem' }))
  const gateway = {
    'mongodb-uri': mongoUri('gateway', secrets.gatewayPassword),
    'service-private-key.pem': secrets.serviceKey,
    'operator-tokens.json': own('operator-tokens.json') ?? JSON.stringify({ dev: secrets.operatorToken }),
    'api-tokens.json': own('api-tokens.json') ?? JSON.stringify({ dev: secrets.apiToken }),
    'providers.json': own('providers.json') ?? JSON.stringify({ acme: standard }),
    acme,
    ...ownFolder('providers'),
  }
  const fulfilment = {
    'mongodb-uri': mongoUri('fulfilment', secrets.fulfilmentPassword),
    'service-public-keys.pem': publicKey,
    'receipt-sink': own('receipt-sink') ?? 'log:',
    'receipt-secret': own('receipt-secret') ?? toWebhookSecret(secrets.receipts),
  }
  const { adminPassword, gatewayPassword, fulfilmentPassword } = secrets
  return {
    gateway: { user: SERVICE_USER, files: gateway },
    fulfilment: { user: SERVICE_USER, files: fulfilment },
    mongo: { user: MONGO_USER, files: { keyfile: Buffer.from(secrets.mongoKey, 'hex').toString('base64') } },
    database: {
      user: SERVICE_USER,
      files: { 'users.json': JSON.stringify({ adminPassword, gatewayPassword, fulfilmentPassword }) },
    },
    simulator: {
      user: SERVICE_USER,
      files: {
        acme,
        'api-token': secrets.apiToken,
        'operator-token': secrets.operatorToken,
        'certificate.pem': readFileSync(join(VOLUMES, 'proxy', 'certificate.pem')),
      },
    },
  }
}

/** A Standard Webhooks secret from 32 bytes in hexadecimal. */
function toWebhookSecret(hex: string): string {
  return `whsec_${Buffer.from(hex, 'hex').toString('base64')}`
}

/** The members of the replica set are hosts in the network `database`; a password is hexadecimal and needs no escaping. */
function mongoUri(user: string, password: string): string {
  return `mongodb://${user}:${password}@${MEMBERS}/?replicaSet=rs0&authSource=admin&authMechanism=SCRAM-SHA-256`
}

function own(name: string): Content | undefined {
  const path = join(OWN, name)
  return existsSync(path) ? readFileSync(path) : undefined
}

function ownFolder(folder: string): Record<string, Content> {
  const path = join(OWN, folder)
  if (!existsSync(path)) return {}
  return Object.fromEntries(readdirSync(path).map((name) => [`${folder}/${name}`, readFileSync(join(path, name))]))
}

function fill(folder: string, { user, files }: Volume): void {
  const folders = new Set([folder, ...Object.keys(files).map((name) => join(folder, name, '..'))])
  for (const path of folders) {
    mkdirSync(path, { recursive: true })
    chownSync(path, user, user)
    chmodSync(path, 0o500)
  }
  for (const [name, content] of Object.entries(files)) write(join(folder, name), { content, user })
  for (const name of readdirSync(folder, { recursive: true }).map(String)) {
    if (!(name in files) && !folders.has(join(folder, name))) rmSync(join(folder, name), { recursive: true })
  }
}

/** A reader sees the old file or the new one. An unchanged file is not written, because gateways watch theirs. */
function write(path: string, { content, user }: { content: Content; user: number }): void {
  const bytes = Buffer.from(content)
  if (existsSync(path) && readFileSync(path).equals(bytes)) return
  rmSync(`${path}.new`, { force: true })
  writeFileSync(`${path}.new`, bytes, { mode: 0o400, flag: 'wx' })
  chownSync(`${path}.new`, user, user)
  renameSync(`${path}.new`, path)
}
