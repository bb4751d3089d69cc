import { createPrivateKey, createPublicKey } from 'node:crypto'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createPrivateKeySource, createPublicKeysSource } from '@oncehook/kernel/secrets/service-keys'
import { createServiceTokenVerifier } from '@oncehook/kernel/secrets/service-token'
import { testServiceTokens } from '@oncehook/kernel/testing/service-key-pair'
import { temporaryFiles } from '@oncehook/kernel/testing/temporary-files'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { runCommand } from '../testing/run-command.ts'

const files = await temporaryFiles()
afterAll(() => files[Symbol.asyncDispose]())

let folder = ''
beforeEach(() => {
  folder = join(files.folder, crypto.randomUUID())
})

const read = (name: string): Promise<string> => readFile(join(folder, name), 'utf8')
const privateKey = (): Promise<string> => read('service-private-key.pem')

/** Whether fulfilment, with these public keys, accepts a call by the gateway with this private key. */
async function accepts(publicKeys: string, key: string): Promise<boolean> {
  const keys = createPublicKeysSource({ SERVICE_PUBLIC_KEYS: publicKeys }).read()
  const rules = { issuer: 'gateway', audience: 'fulfilment', clock: { now: Date.now } }
  const verify = createServiceTokenVerifier({ ...rules, keys: () => keys })
  const token = await testServiceTokens({ privateKey: key, publicKey: '' }).issue({ procedure: 'a.b', input: '' })
  return verify(`Bearer ${token}`).then(
    () => true,
    () => false,
  )
}

describe('oncehook keys new', () => {
  it('makes a pair that the services read, the private key for its owner only', async () => {
    const { exitCode, stdout } = await runCommand(['keys', 'new', folder])
    expect(exitCode).toBe(0)
    expect(stdout).toContain('SERVICE_PRIVATE_KEY_FILE=')
    const path = join(folder, 'service-private-key.pem')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(createPrivateKeySource({ SERVICE_PRIVATE_KEY_FILE: path }).read().type).toBe('private')
    expect(await accepts(await read('service-public-keys.pem'), await privateKey())).toBe(true)
  })

  it('replaces no key', async () => {
    await runCommand(['keys', 'new', folder])
    const before = await privateKey()
    expect(await runCommand(['keys', 'new', folder])).toMatchObject({ exitCode: 1 })
    expect(await privateKey()).toBe(before)
  })
})

describe('oncehook keys rotate', () => {
  it('exchanges the pair in three steps, and no call is refused between them', async () => {
    await runCommand(['keys', 'new', folder])
    const states = [{ sign: await privateKey(), verify: await read('service-public-keys.pem') }]
    for (const step of ['1', '2', '3']) {
      // An interrupted step is repeated.
      for (const _ of [1, 2]) {
        expect(await runCommand(['keys', 'rotate', folder, '--step', step])).toMatchObject({ exitCode: 0 })
      }
      states.push({ sign: await privateKey(), verify: await read('service-public-keys.pem') })
    }
    // Files reach the services at different times: a state meets the one before it.
    for (const [at, { sign, verify }] of states.entries()) {
      const before = states[at - 1] ?? { sign, verify }
      expect([await accepts(verify, before.sign), await accepts(before.verify, sign)]).toEqual([true, true])
    }
    const [first, last] = [states[0]?.sign ?? '', states[3]?.sign ?? '']
    expect(createPublicKey(createPrivateKey(first)).equals(createPublicKey(createPrivateKey(last)))).toBe(false)
    expect(await accepts(states[3]?.verify ?? '', first)).toBe(false)
  })

  it('takes no step out of its order, and says what is missing', async () => {
    const rotate = async (step: string) => (await runCommand(['keys', 'rotate', folder, '--step', step])).stderr
    expect(await rotate('1')).toContain('cannot be read: see oncehook keys new')
    await runCommand(['keys', 'new', folder])
    const first = await read('service-public-keys.pem')
    await rotate('1')
    expect(await rotate('3')).toBe('--step 2 comes first\n')
    await writeFile(join(folder, 'service-public-keys.pem'), first)
    expect(await rotate('2')).toContain('--step 1 comes first')
  })
})
