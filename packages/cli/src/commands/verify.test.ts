import { join } from 'node:path'
import { deliveryOf, readVectorFiles } from '@oncehook/webhooks/testing/vectors'
import { describe, expect, it } from 'vitest'
import { fakeSecret } from '../testing/fake-gateway.ts'
import { at, body, headers, makeFiles, run, signed } from '../testing/given-delivery.ts'
import { makeDataFolder } from '../testing/run-command.ts'

describe('oncehook verify', () => {
  it('accepts a body from standard input and says which secret, which id and when', async () => {
    await using files = await makeFiles({ secret: `${fakeSecret}\n` })
    const args = ['--scheme', 'standard-webhooks', '--secret-file', files.path('secret'), ...at, ...signed]
    expect(await run('verify', args)).toEqual({
      exitCode: 0,
      stdout: `Settings   --scheme standard-webhooks, --secret-file ${files.path('secret')}
Accepted   by standard-webhooks (standard-webhooks), secret given
Signed id  msg_0001
Signed at  2025-10-09 08:53:20Z
`,
      stderr: '',
    })
  })

  it('prints the same as one JSON document, with the secret from the environment', async () => {
    const args = ['--scheme', 'standard-webhooks', '--secret-env', 'ACME', '--json', ...at, ...signed]
    const readEnv = (name: string) => (name === 'ACME' ? fakeSecret : undefined)
    const { exitCode, stdout } = await run('verify', args, { readEnv })
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      result: 'accepted',
      provider: 'standard-webhooks',
      scheme: 'standard-webhooks',
      settings: '--scheme standard-webhooks, --secret-env ACME',
      secretId: 'given',
      signedId: 'msg_0001',
      signedAt: '2025-10-09T08:53:20.000Z',
      counts: true,
    })
  })

  it('refuses one that is old, and exits with 1', async () => {
    const args = ['--scheme', 'standard-webhooks', '--secret-env', 'ACME', ...signed]
    const { exitCode, stdout } = await run('verify', args, { readEnv: () => fakeSecret })
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(
      /^Settings.*\nRefused {4}by standard-webhooks \(standard-webhooks\): timestamp_outside_window\n.*explain/,
    )
  })

  it('uses the secret and the settings of the provider from the local system', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:9')
    const { exitCode, stdout } = await run('verify', ['--provider', 'acme', ...at, ...signed], folder)
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('acme') })
    expect(stdout).toContain('secret new')
    const path = (name: string) => join(folder.dataFolder, name)
    expect(stdout.split('\n')[0]).toBe(
      `Settings   the local system, ${path('providers.json')}, ${path('secrets.json')}`,
    )
  })

  it.each(['verify', 'explain'] as const)(
    '%s judges nothing by other secrets if the local system has its providers in its environment',
    async (command) => {
      await using folder = await makeDataFolder('http://127.0.0.1:9', { providersFile: null })
      const { exitCode, stdout, stderr } = await run(command, ['--provider', 'acme', ...at, ...signed], folder)
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
      expect(stderr).toContain('set PROVIDERS in this shell, too')
    },
  )

  it('prefers the settings of its shell to those of the local system, and says so', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:9')
    const secrets = [{ id: 'mine', value: { env: 'SECRET' } }]
    const env: Record<string, string> = {
      PROVIDERS: JSON.stringify({ acme: { scheme: 'standard-webhooks', secrets } }),
      SECRET: fakeSecret,
    }
    const overrides = { ...folder, readEnv: (name: string) => env[name] }
    const { stdout } = await run('verify', [...at, ...signed], overrides)
    expect(stdout).toMatch(/^Settings {3}PROVIDERS of this shell, the variable SECRET\nAccepted .*, secret mine\n/)
    const json = await run('explain', ['--json', ...at, ...signed], overrides)
    expect(JSON.parse(json.stdout)).toMatchObject({ settings: 'PROVIDERS of this shell, the variable SECRET' })
  })

  it.each([['--providers-file'], ['PROVIDERS_FILE'], ['PROVIDERS']])('takes them from %s', async (where) => {
    const secrets = [{ id: 'one', value: { env: 'SECRET_OF_SHOP' } }]
    const providers = JSON.stringify({ shop: { scheme: 'standard-webhooks', secrets } })
    await using files = await makeFiles({ providers })
    const env: Record<string, string> = { SECRET_OF_SHOP: fakeSecret }
    if (where === 'PROVIDERS_FILE') env[where] = files.path('providers')
    if (where === 'PROVIDERS') env[where] = providers
    const args = where.startsWith('--') ? [where, files.path('providers')] : []
    const readEnv = (name: string) => env[name]
    const { exitCode, stdout } = await run('verify', [...args, ...at, ...signed], { readEnv })
    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('secret one') })
    const place: Record<string, string> = {
      '--providers-file': `--providers-file ${files.path('providers')}`,
      PROVIDERS_FILE: `PROVIDERS_FILE of this shell, ${files.path('providers')}`,
      PROVIDERS: 'PROVIDERS of this shell',
    }
    expect(stdout.split('\n')[0]).toBe(`Settings   ${place[where]}, the variable SECRET_OF_SHOP`)
  })

  it.each(['\r\n', '\n'])('reads a whole request from a file, its lines ended by %j', async (end) => {
    const lines = ['POST /api/webhooks/acme?x=1 HTTP/1.1', 'Host: example.com', ...headers]
    const length = `Content-Length: ${Buffer.byteLength(body)}`
    // What an editor puts at the end does not belong to it.
    const request = [...lines, length, '', `${body}\n`].join(end)
    await using files = await makeFiles({ request, secret: fakeSecret })
    const args = ['--scheme', 'standard-webhooks', '--secret-file', files.path('secret'), ...at]
    expect(await run('verify', [...args, '--request', files.path('request')])).toMatchObject({ exitCode: 0 })
  })

  it('reads the URL of a scheme that signs one, and its query, from --url', async () => {
    const vector = readVectorFiles()
      .find(({ scheme }) => scheme === 'twilio')!
      .cases.find(({ verdict, query }) => verdict === 'accepted' && query !== undefined)!
    const { rawBody, rawHeaders, query } = deliveryOf(vector)
    const lines = rawHeaders.flatMap((name, index) =>
      index % 2 === 0 ? ['-H', `${name}: ${rawHeaders[index + 1]}`] : [],
    )
    const overrides = { readStdin: async () => rawBody, readEnv: () => vector.secret }
    const args = ['--scheme', 'twilio', '--secret-env', 'TOKEN', ...lines]
    const url = `${String(vector.settings!.publicUrl)}?${query}`
    expect((await run('verify', [...args, '--url', url], overrides)).exitCode).toBe(0)
    const elsewhere = await run('explain', [...args, '--url', url.replace('https:', 'http:')], overrides)
    expect(elsewhere).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('signed for https:') })
  })

  it('says that too little is signed if the provider has to be called', async () => {
    const args = ['--scheme', 'flutterwave', '--secret-env', 'HASH', '-H', 'verif-hash: a hash that I chose']
    const { exitCode, stdout } = await run('verify', args, { readEnv: () => 'a hash that I chose' })
    expect(exitCode).toBe(0)
    expect(stdout).toContain('Not enough is signed')
    expect(stdout).toContain('Signed id  none\nSigned at  -\n')
  })

  it.each<[string, string[], string]>([
    [
      'a secret among the arguments',
      ['--scheme', 'stripe', '--secret', 'whsec_x'],
      'Do not pass a secret as an argument',
    ],
    ['no secret', ['--scheme', 'stripe'], '--scheme needs --secret-file or --secret-env'],
    ['nothing to find a provider by', [], 'Give --providers-file, or --scheme'],
    [
      'a setting that the scheme does not have',
      ['--scheme', 'stripe', '--secret-env', 'S', '--set', 'a=b'],
      'settings are invalid',
    ],
    ['a secret that the scheme cannot read', ['--scheme', 'adyen', '--secret-env', 'S'], 'is not hexadecimal'],
  ])('exits with 2 for %s', async (_, args, message) => {
    const readEnv = (name: string) => (name === 'S' ? 'a secret of sixteen' : undefined)
    const { exitCode, stdout, stderr } = await run('verify', args, { readEnv })
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/whsec_x|a secret of sixteen/)
  })

  it.each([
    ['cut short', 'a: b\ncontent-length: 99\n\n{}', 'truncated: 2 of 99 bytes'],
    ['in chunks', 'a: b\ntransfer-encoding: chunked\n\n2\r\n{}\r\n', 'is chunked'],
    ['without an empty line', 'a: b\n', 'no empty line'],
  ])('exits with 2 for a request %s', async (_, request, message) => {
    await using files = await makeFiles({ request })
    const args = ['--scheme', 'stripe', '--secret-env', 'S', '--request', files.path('request')]
    const { exitCode, stderr } = await run('verify', args, { readEnv: () => 'a secret of sixteen' })
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(message) })
  })
})
