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
const { port } = stack.use(
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
})

describe('oncehook send by a scheme that has to be asked about', () => {
  it('says that it cannot simulate the provider’s API if the port is taken', async () => {
    await using taken = createServer().listen(apiPort, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { exitCode, stderr } = await send('flutterwave')
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('the port is in use') })
  })
})
