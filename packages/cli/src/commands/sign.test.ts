import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { fakeSecret } from '../testing/fake-gateway.ts'
import { makeDataFolder, runCommand } from '../testing/run-command.ts'

const body = '{"id":"evt_0001","type":"payment.succeeded","data":{"object":{"id":"pay_0001","note":"café 10 €"}}}'

async function makeBodyFile(content: string | Buffer = body) {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-sign-'))
  const file = join(folder, "the body's file.json")
  await writeFile(file, content)
  return { file, [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }) }
}

async function sign(args: readonly string[], stdin: string | Buffer = body) {
  // Every variable holds its own name, except for settings.
  const readEnv = (name: string) => (name.startsWith('PROVIDERS') ? undefined : name)
  return runCommand(['sign', ...args], { readStdin: async () => Buffer.from(stdin), readEnv })
}

describe('oncehook sign', () => {
  it('prints the header lines that prove a body from standard input', async () => {
    const args = ['--secret-env', fakeSecret, '--event-id', 'msg_0001', '--timestamp', '1760000000']
    expect(await sign(args)).toEqual({
      exitCode: 0,
      stdout:
        'webhook-id: msg_0001\nwebhook-timestamp: 1760000000\nwebhook-signature: v1,JNszWeF+I4U+eFAOuTXBJ8C0b87vaX8QnYayGpiaEjU=\n',
      stderr: `Signing as acme (standard-webhooks) with the secret of --secret-env ${fakeSecret}\n`,
    })
  })

  it('signs by any scheme and its settings', async () => {
    const settings = ['--set', 'header=x-hub-signature-256', '--set', 'prefix=sha256=']
    const args = ['--scheme', 'hmac', '--secret-env', 'test_secret', ...settings]
    expect((await sign(args)).stdout).toBe(
      'x-hub-signature-256: sha256=954170223fd5be8e03970efe3ecfb1cefe4d2b5a049e2b6cbe521380bf89f197\n',
    )
  })

  it('prints the signed body if the scheme puts the signature there', async () => {
    const item = { pspReference: '1', merchantReference: 'o', amount: { value: 1, currency: 'EUR' }, success: 'true' }
    const source = JSON.stringify({ notificationItems: [{ NotificationRequestItem: item }] })
    const args = ['--scheme', 'adyen', '--secret-env', '000102030405060708090a0b0c0d0e0f']
    const { exitCode, stdout } = await sign(args, source)
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout).notificationItems[0].NotificationRequestItem).toMatchObject({
      ...item,
      additionalData: { hmacSignature: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/) },
    })
    expect(JSON.parse((await sign([...args, '--json'], source)).stdout)).toEqual({
      scheme: 'adyen',
      headers: {},
      body: stdout,
    })
    const curl = await sign([...args, '--curl', '--url', 'http://127.0.0.1:1'], source)
    expect(curl.stdout).toContain(`--data-raw '${stdout}'`)
  })

  it('names the query that belongs to the URL', async () => {
    const args = ['--scheme', 'mercadopago', '--secret-env', 'test_secret', '--event-id', 'req']
    const source = '{"data":{"id":"123456"}}'
    const { exitCode, stdout, stderr } = await sign(args, source)
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^x-signature: ts=\d{10},v1=[0-9a-f]{64}\nx-request-id: \S+\n$/)
    expect(stderr).toMatch(/^Signing as .*\nSend it with the query \?data\.id=123456&type=payment\n$/)
    const curl = await sign([...args, '--curl', '--url', 'http://127.0.0.1:1'], source)
    expect(curl.stdout).toContain("'http://127.0.0.1:1/api/webhooks/mercadopago?data.id=123456&type=payment'")
    expect(JSON.parse((await sign([...args, '--json'], source)).stdout).query).toBe('data.id=123456&type=payment')
  })

  it('asks for the private key of a scheme with two keys', async () => {
    const { exitCode, stderr } = await sign(['--scheme', 'discord', '--secret-env', '00'.repeat(32)])
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining(
        'The secret is not the PEM of a private key (ed25519): the provider keeps the private key\n',
      ),
    })
  })

  it('uses the secret and the settings of the system that runs here', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:9')
    // It asks no gateway, so it works while none answers.
    const fetch = () => Promise.reject(new Error('asked'))
    for (const more of [[], ['--json'], ['--curl']]) {
      const { exitCode, stdout, stderr } = await runCommand(['sign', '--provider', 'shop', ...more], {
        ...folder,
        fetch,
      })
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringMatching(/sha256=[0-9a-f]{64}/) })
      expect(stderr).toBe(`Signing as shop (hmac) with the secret of ${join(folder.dataFolder, 'secrets.json')}\n`)
    }
  })

  it('names where the secret of its own settings is: in the settings, in a file, or in a variable', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:9')
    await using source = await makeBodyFile(fakeSecret)
    for (const [value, place] of [
      [fakeSecret, 'PROVIDERS of this shell'],
      [{ file: source.file }, source.file],
      [{ env: 'MINE' }, 'the variable MINE'],
    ] as const) {
      const providers = JSON.stringify({ psp: { scheme: 'standard-webhooks', secrets: [{ id: '1', value }] } })
      const env: Record<string, string> = { PROVIDERS: providers, MINE: fakeSecret }
      const overrides = { ...folder, readEnv: (name: string) => env[name], readStdin: async () => Buffer.from(body) }
      const { stdout, stderr } = await runCommand(
        ['sign', '--timestamp', '1760000000', '--event-id', 'msg_0001'],
        overrides,
      )
      expect(stderr).toBe(`Signing as psp (standard-webhooks) with the secret of ${place}\n`)
      expect(stdout).toContain('v1,JNszWeF+I4U+eFAOuTXBJ8C0b87vaX8QnYayGpiaEjU=')
    }
  })

  it('uses no development secret if the local system has its providers in its environment', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:9', { providersFile: null })
    const { exitCode, stdout, stderr } = await runCommand(['sign'], folder)
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toContain('The local system has its own PROVIDERS')
  })

  it.each([['a file'], ['standard input']])(
    'prints a curl command that posts exactly the bytes of %s',
    async (from) => {
      await using folder = await makeDataFolder('http://127.0.0.1:8080')
      const content = `@{"id":"evt_1","note":"it's \\n 'quoted' $HOME \`x\`",\n"ends":"in a line end"}\n`
      await using source = await makeBodyFile(content)
      const readStdin = async () => Buffer.from(content)
      const args = from === 'a file' ? [source.file] : []
      const { exitCode, stdout } = await runCommand(['sign', '--curl', '--set', 'headerPrefix=svix-', ...args], {
        ...folder,
        readStdin,
      })
      expect(exitCode).toBe(0)
      expect(stdout).not.toContain(fakeSecret.slice('whsec_'.length))
      const { stdout: given } = await promisify(execFile)('sh', ['-c', `curl() { printf '%s\\0' "$@"; }; ${stdout}`])
      expect(given.split('\0')).toEqual([
        ...['--silent', '--show-error', '--include'],
        ...['--header', 'content-type: application/json'],
        ...['--header', expect.stringMatching(/^svix-id: evt_\w+$/)],
        ...['--header', expect.stringMatching(/^svix-timestamp: \d{10}$/)],
        ...['--header', expect.stringMatching(/^svix-signature: v1,\S{44}$/)],
        ...(from === 'a file' ? ['--data-binary', `@${source.file}`] : ['--data-raw', content]),
        'http://127.0.0.1:8080/api/webhooks/acme',
        '',
      ])
    },
  )

  it.each([
    [['--secret-env', fakeSecret, '/nowhere.json'], 'The file /nowhere.json cannot be read'],
    [['--secret-env', fakeSecret, '--curl'], '--curl needs --url'],
    [['--secret-env', fakeSecret, '--curl', '--json'], "option '--curl' cannot be used with option '--json'"],
    [['--secret-env', 'whsec_*'], 'The secret is not base64'],
    [['--secret-env', fakeSecret, '--timestamp', 'now'], 'is invalid'],
    [['--secret', fakeSecret], 'Do not pass a secret as an argument: use --secret-file or --secret-env'],
    [['--scheme', 'hmac', '--secret-env', 'x'], 'The setting header is missing'],
  ])('exits with 2 for %j', async (args, message) => {
    const { exitCode, stdout, stderr } = await sign(args)
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  it('says that it knows no secret of a gateway elsewhere, and does not use those of the local system', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:9')
    const { exitCode, stdout, stderr } = await runCommand(['sign', '--url', 'https://pay.example.com'], folder)
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(
      /^No settings are known here for https:\/\/pay\.example\.com: set PROVIDERS_FILE, .*--secret-file\n$/,
    )
  })
})
