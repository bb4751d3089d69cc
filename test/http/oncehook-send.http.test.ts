import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SCHEMES } from '@oncehook/webhooks/providers'
import { afterAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../packages/cli/src/testing/run-command.ts'
import { stablePort } from '../../scripts/ports/stable-port.ts'
import { startHttpSystem } from '../support/http/http-system.ts'
import { type SimulatedProvider, simulateProvider } from '../support/providers/simulated-provider.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const apiPort = await stablePort()
const apiToken = 'a-token-of-the-simulated-api'
const token = randomBytes(24).toString('hex')

const simulated = new Map<string, SimulatedProvider>(
  await Promise.all(
    [...SCHEMES.keys()].map(async (scheme) => {
      const publicUrl = `https://pay.example.com/api/webhooks/${scheme}`
      const place = { publicUrl, apiUrl: `http://127.0.0.1:${apiPort}/v3`, apiToken, now: Date.now() }
      return [scheme, await simulateProvider(scheme, place)] as const
    }),
  ),
)
const providers = Object.fromEntries([...simulated].map(([scheme, { settings }]) => [scheme, settings]))
const { port, events } = stack.use(
  await startHttpSystem({
    gateway: { PROVIDERS: JSON.stringify(providers), API_TOKENS: JSON.stringify({ dev: token }) },
  }),
)

/** The data folder that a running `npm start` with these providers would write. */
const dataFolder = stack.adopt(await mkdtemp(join(tmpdir(), 'oncehook-send-')), async (folder) =>
  rm(folder, { recursive: true }),
)
const url = `http://127.0.0.1:${port}`
const files = { secretsFile: 'secrets.json', providersFile: 'providers.json', secretVariables: {} }
const running = { gatewayUrl: url, adminUrl: url, ...files, pid: process.pid }
const secrets = { apiTokens: { dev: token }, operatorTokens: {}, providers: {} }
await writeFile(join(dataFolder, 'providers.json'), JSON.stringify(providers))
await writeFile(join(dataFolder, 'running.json'), JSON.stringify(running))
await writeFile(join(dataFolder, 'secrets.json'), JSON.stringify(secrets))

/** The part of the output of `oncehook send --batch … --json` that is used here. */
interface SendDocument {
  readonly summary: string
  readonly deliveries: readonly { readonly status: number; readonly events: readonly { readonly orderId: string }[] }[]
  readonly orders: readonly { readonly after: { readonly version: number } }[]
}

/** Sends as a user would. A scheme with two keys needs the private one, which the gateway does not have. */
async function send(scheme: string, ...args: readonly string[]) {
  const { secret } = simulated.get(scheme) as SimulatedProvider
  const file = join(dataFolder, `${scheme}.key`)
  if (secret.signWith !== secret.value) await writeFile(file, secret.signWith, { mode: 0o600 })
  const key = secret.signWith !== secret.value && secret.value !== null ? ['--secret-file', file] : []
  const set = Object.entries(secret.signerSettings ?? {}).flatMap(([name, value]) => ['--set', `${name}=${value}`])
  return runCommand(['send', '--provider', scheme, ...key, ...set, ...args], { dataFolder })
}

describe.each([...SCHEMES.keys()])('oncehook send by %s', (scheme) => {
  it('pays an order, and shows a failed payment', async () => {
    const paid = await send(scheme)
    expect(paid).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringMatching(/Order \S+ is paid\n$/) })
    const failed = await send(scheme, '--type', 'failed')
    expect(failed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('pending -> payment_failed') })
    const printed = paid.stdout + failed.stdout
    const hidden = [token, simulated.get(scheme)?.secret.signWith].filter((secret) => secret)
    for (const secret of hidden) expect(printed).not.toContain(secret)
  })

  it('is refused with a tampered signature, or says that there is no signature', async () => {
    const { exitCode, stdout, stderr } = await send(scheme, '--tamper', 'signature')
    const signsNothing = ['flutterwave', 'mercadopago', 'mollie-classic'].includes(scheme)
    expect({ exitCode, told: stdout + stderr }).toEqual({
      exitCode: signsNothing ? 2 : 1,
      told: expect.stringContaining(signsNothing ? 'nothing to tamper with' : 'Refused as expected: 401'),
    })
  })
})

const batching = [...SCHEMES.keys()].filter((scheme) => simulated.get(scheme)?.signer.batch !== undefined)

describe.each(batching)('oncehook send --batch by %s', (scheme) => {
  it('delivers several events at once, again and late: each is one event and pays its order once', async () => {
    const repeated = ['--times', '3', '--order-of-arrival', 'shuffled', '--parallel', '4']
    const { exitCode, stdout, stderr } = await send(scheme, '--count', '25', '--batch', '10', ...repeated, '--json')
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    const { deliveries, orders, summary } = JSON.parse(stdout) as SendDocument
    expect(summary).toBe('All 25 orders are paid')
    expect(orders.map(({ after }) => after.version)).toEqual(Array(25).fill(2))
    expect(deliveries.map((one) => one.events.length).toSorted((a, b) => b - a)).toEqual([
      ...Array(6).fill(10),
      ...Array(3).fill(5),
    ])
    expect(deliveries.map(({ status }) => status)).toEqual(Array(9).fill(200))
    const told = Map.groupBy(
      deliveries.flatMap((one) => one.events),
      ({ orderId }) => orderId,
    )
    expect([...told.values()].map(({ length }) => length)).toEqual(Array(25).fill(3))

    const records = { provider: scheme, orderId: { $in: [...told.keys()] } }
    // An order is paid a moment before its event is done.
    await expect.poll(() => events.countDocuments({ ...records, state: 'done' })).toBe(25)
    expect(await events.countDocuments(records)).toBe(25)
    // Repeated deliveries are counted a moment after their answer.
    await expect.poll(() => events.countDocuments({ ...records, deliveries: 3 })).toBe(25)
  })

  it('says which events were in a delivery, and counts those that are refused', async () => {
    const sequence = ['--sequence', 'failed,succeeded', '--batch', '2']
    expect(await send(scheme, ...sequence)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^Delivery {2}2 events, evt_\w+_1 to evt_\w+_2: 200/m),
    })
    const refused = await send(scheme, '--count', '3', '--batch', '2', '--tamper', 'signature')
    expect(refused).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('Refused as expected: 401 for a tampered signature, and all 3 orders did not'),
    })
  })
})

describe('oncehook send by a scheme that has to be asked about', () => {
  it('says that it cannot simulate the provider’s API if the port is taken', async () => {
    await using taken = createServer().listen(apiPort, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { exitCode, stderr } = await send('flutterwave')
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('the port is in use') })
  })
})
