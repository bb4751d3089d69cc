import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { afterAll, describe, expect, it } from 'vitest'
import { readGatewaySettings } from '../../start/settings.ts'
import { watchProviders } from './providers.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

const secret = (id: string) => ({ id, value: `the secret ${id} of a test` })
const stripe = (...secrets: object[]) => ({ scheme: 'stripe', expect: {}, secrets })

/** Providers that come from a separate file. */
async function watchFile(providers: object) {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-providers-'))
  stack.defer(() => rm(folder, { recursive: true }))
  const file = join(folder, 'providers.json')
  const write = (content: object | string): Promise<void> =>
    writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
  await write(providers)
  const { providers: source } = readGatewaySettings({
    MONGODB_URI: 'mongodb://127.0.0.1/?replicaSet=x',
    SERVICE_PRIVATE_KEY: newServiceKeyPair().privateKey,
    PROVIDERS_FILE: file,
  })
  const { logger, lines } = memoryLogger()
  const watched = watchProviders(source, logger)
  return { folder, write, watched, lines, names: () => [...watched.current().keys()] }
}

describe('watchProviders', () => {
  it('follows its file, and reports a change once', async () => {
    const { write, watched, lines, names } = await watchFile({ acme: stripe(secret('one')) })
    expect(names()).toEqual(['acme'])
    watched.check()
    expect(lines).toEqual([])
    await write({ acme: stripe(secret('one')), beta: stripe(secret('two')) })
    expect(names()).toEqual(['acme'])
    watched.check()
    watched.check()
    expect(names()).toEqual(['acme', 'beta'])
    expect(lines).toMatchObject([{ msg: 'providers.changed', providers: ['acme', 'beta'] }])
  })

  it('follows the file of a token with which a provider is called', async () => {
    const { folder, write, watched, lines } = await watchFile({ acme: stripe(secret('one')) })
    const token = join(folder, 'token')
    const flutterwave = { ...stripe(secret('one')), scheme: 'flutterwave' }
    await writeFile(token, 'the_first_token')
    await write({ acme: { ...flutterwave, fetch: { baseUrl: 'https://api.example.com', token: { file: token } } } })
    watched.check()
    const first = watched.current().get('acme')
    await writeFile(token, 'the_second_token')
    watched.check()
    expect(watched.current().get('acme')).not.toBe(first)
    await writeFile(token, 'of two words')
    watched.check()
    expect(lines).toMatchObject([
      { msg: 'providers.changed' },
      { msg: 'providers.changed' },
      { msg: 'providers.refused', problems: [expect.stringMatching(/^PROVIDERS_FILE\.acme\.fetch\.token must be/)] },
    ])
  })

  it('keeps the earlier settings while the file is wrong, logs why without a value, and uses the next valid file', async () => {
    const { write, watched, lines, names } = await watchFile({ acme: stripe(secret('one')) })
    await write(`{"acme": ${JSON.stringify(stripe(secret('one')))}, "half`)
    watched.check()
    watched.check()
    await write({ acme: stripe({ id: 'x', value: 'short' }) })
    watched.check()
    expect(names()).toEqual(['acme'])
    expect(lines).toMatchObject([
      { level: 'error', msg: 'providers.refused', problems: ['PROVIDERS_FILE is not valid JSON'] },
      { level: 'error', msg: 'providers.refused', problems: [expect.stringContaining('shorter than 16 bytes')] },
    ])
    expect(JSON.stringify(lines)).not.toContain('the secret')
    expect(watched.problems()).toEqual([expect.stringContaining('shorter than 16 bytes')])
    await write({ beta: stripe(secret('two')) })
    watched.check()
    expect([names(), watched.problems()]).toEqual([['beta'], []])
  })

  it('follows the files of secrets, also one that was named for the first time', async () => {
    const { folder, write, watched, lines } = await watchFile({ acme: stripe(secret('one')) })
    const path = join(folder, 'secret')
    await writeFile(path, 'the first text of a secret\n')
    await write({ acme: stripe({ id: 'file', value: { file: path } }) })
    watched.check()
    const first = watched.current()
    watched.check()
    expect(watched.current()).toBe(first)
    await writeFile(path, 'another text of that secret\n')
    watched.check()
    expect(watched.current()).not.toBe(first)
    expect(lines.map(({ msg }) => msg)).toEqual(['providers.changed', 'providers.changed'])
  })
})
