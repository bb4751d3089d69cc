import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SCHEMES } from '@oncehook/webhooks/providers'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../testing/run-command.ts'

async function makeFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-secret-'))
  return { file: join(folder, 'secret'), [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }) }
}

/** Schemes whose settings lack more than a secret. */
const MORE: Readonly<Record<string, string>> = { hmac: 'header=x-signature' }

const item = { pspReference: '1', merchantReference: 'o', amount: { value: 1, currency: 'EUR' }, success: 'true' }
/** Bodies of the schemes that sign what is in them. */
const BODIES: Readonly<Record<string, string>> = {
  adyen: JSON.stringify({ notificationItems: [{ NotificationRequestItem: item }] }),
  'app-store': JSON.stringify({ notificationType: 'TEST', notificationUUID: '1', data: { environment: 'Production' } }),
  sns: JSON.stringify({ Type: 'Notification', MessageId: '1', Message: 'm', Timestamp: '2025-10-09T08:53:20.000Z' }),
}

describe('oncehook sign --make-secret', () => {
  it.each([...SCHEMES].filter(([, { signsNothing }]) => signsNothing !== true).map(([name]) => name))(
    'makes for %s what signs, and the settings by which the gateway accepts it',
    async (scheme) => {
      await using folder = await makeFolder()
      const made = await runCommand(['sign', '--scheme', scheme, '--make-secret', folder.file])
      expect(made.exitCode).toBe(0)
      const text = (await readFile(folder.file, 'utf8')).trim()
      expect(made.stdout + made.stderr).not.toContain(text)
      expect((await stat(folder.file)).mode & 0o777).toBe(0o600)

      const more = MORE[scheme] === undefined ? [] : ['--set', MORE[scheme]]
      const address = ['hubspot', 'square', 'twilio'].includes(scheme)
        ? ['--set', 'publicUrl=https://pay.example.com/hook']
        : []
      const given = made.stderr.trim().split(' ').slice(2)
      const body = BODIES[scheme] ?? '{"data":{"id":"1"}}'
      const signArgs = ['sign', ...given, ...more, ...address, '--json']
      const signed = await runCommand(signArgs, { readStdin: async () => Buffer.from(body) })
      expect(signed).toMatchObject({ exitCode: 0, stderr: expect.stringMatching(/^Signing as .*\n$/) })

      const document = JSON.parse(signed.stdout)
      const entry = { ...JSON.parse(made.stdout)[scheme], ...toSettings([...more, ...address]) }
      if (SCHEMES.get(scheme)?.prepareConfirm !== undefined)
        entry.fetch = { baseUrl: 'http://127.0.0.1', token: 'client:unused' }
      const lines = Object.entries(document.headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
      const url = document.query === undefined ? [] : ['--url', `https://pay.example.com/hook?${document.query}`]
      const PROVIDERS = JSON.stringify({ [scheme]: entry })
      const verified = await runCommand(['verify', ...lines, ...url], {
        readEnv: (name) => (name === 'PROVIDERS' ? PROVIDERS : undefined),
        readStdin: async () => Buffer.from(document.body ?? body),
      })
      expect(verified).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringContaining('development') })
    },
  )

  it('overwrites no file', async () => {
    await using folder = await makeFolder()
    await runCommand(['sign', '--scheme', 'discord', '--make-secret', folder.file])
    const before = await readFile(folder.file, 'utf8')
    const { exitCode, stderr } = await runCommand(['sign', '--scheme', 'stripe', '--make-secret', folder.file])
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('must not exist yet') })
    expect(await readFile(folder.file, 'utf8')).toBe(before)
  })

  it.each([
    ['no scheme', [], 'needs --scheme'],
    ['a scheme without secrets', ['--scheme', 'mollie-classic'], 'uses no secret'],
  ])('exits with 2 for %s', async (_, args, message) => {
    const { exitCode, stderr } = await runCommand(['sign', ...args, '--make-secret', '/nowhere/secret'])
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(message) })
  })
})

function toSettings(args: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    args.filter((text) => text.includes('=')).map((text) => text.split('=') as [string, string]),
  )
}
