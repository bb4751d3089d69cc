import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { memoryLogger } from '../testing/memory-logger.ts'
import { newServiceKeyPair } from '../testing/service-key-pair.ts'
import { settingsProblems } from '../testing/settings-problems.ts'
import { temporaryFiles } from '../testing/temporary-files.ts'
import { createPrivateKeySource, createPublicKeysSource, watchServiceKeys } from './service-keys.ts'

const files = await temporaryFiles()
afterAll(() => files[Symbol.asyncDispose]())

const [OLD, NEW] = [newServiceKeyPair(), newServiceKeyPair()]
const RSA = generateKeyPairSync('rsa', {
  modulusLength: 2_048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})
const CANARY = 'MCowBQYDK2VwAyEAcanary'

describe('the private key of service tokens', () => {
  it('is in the setting, or in its file', async () => {
    const file = await files.write(OLD.privateKey)
    for (const env of [{ SERVICE_PRIVATE_KEY: OLD.privateKey }, { SERVICE_PRIVATE_KEY_FILE: file }]) {
      expect(createPublicKey(createPrivateKeySource(env).read()).equals(createPublicKey(OLD.publicKey))).toBe(true)
    }
  })

  const problem = 'SERVICE_PRIVATE_KEY is no private Ed25519 key in PEM (npm run oncehook -- keys new <folder>)'
  it.each([
    ['is a public key', OLD.publicKey, problem],
    ['is an RSA key', RSA.privateKey, problem],
    ['is broken', `-----BEGIN PRIVATE KEY-----\n${CANARY}`, problem],
    ['is a text', CANARY, problem],
    ['is not set', undefined, 'SERVICE_PRIVATE_KEY is not set'],
  ])('is refused if it %s, without a value', (_, SERVICE_PRIVATE_KEY, expected) => {
    const problems = settingsProblems(() => createPrivateKeySource({ SERVICE_PRIVATE_KEY }).read())
    expect(problems).toEqual([expected])
  })
})

describe('the public keys of service tokens', () => {
  it('are one or several, one after the other', () => {
    const read = (SERVICE_PUBLIC_KEYS: string) => createPublicKeysSource({ SERVICE_PUBLIC_KEYS }).read()
    expect(read(OLD.publicKey.trim())).toHaveLength(1)
    const both = read(`${OLD.publicKey}\r\n${NEW.publicKey}`)
    expect(both.map((key) => key.export({ type: 'spki', format: 'pem' }))).toEqual([OLD.publicKey, NEW.publicKey])
  })

  const problem = /^SERVICE_PUBLIC_KEYS must be one to 5 public Ed25519 keys in PEM, one after the other/
  it.each([
    ['have a private key', OLD.publicKey + OLD.privateKey, /^SERVICE_PUBLIC_KEYS is a private key: give it the public/],
    ['are RSA keys', RSA.publicKey, problem],
    ['are more than five', OLD.publicKey.repeat(6), problem],
    ['are broken', `-----BEGIN PUBLIC KEY-----\n${CANARY}\n-----END PUBLIC KEY-----\n`, problem],
    ['have something else', `${OLD.publicKey}${CANARY}`, problem],
    ['are a text', CANARY, problem],
    ['are not set', undefined, /^SERVICE_PUBLIC_KEYS is not set$/],
  ])('are refused if they %s, without a value', (_, SERVICE_PUBLIC_KEYS, expected) => {
    const problems = settingsProblems(() => createPublicKeysSource({ SERVICE_PUBLIC_KEYS }).read())
    expect(problems).toEqual([expect.stringMatching(expected)])
    expect(problems.join()).not.toContain('canary')
  })
})

it('keys follow their files, and do not change while a file is wrong', async () => {
  const path = await files.write(OLD.publicKey)
  const { logger, lines } = memoryLogger()
  const keys = watchServiceKeys(createPublicKeysSource({ SERVICE_PUBLIC_KEYS_FILE: path }), logger)
  await writeFile(path, OLD.publicKey + NEW.publicKey)
  keys.check()
  expect(keys.current()).toHaveLength(2)
  await writeFile(path, 'canary')
  keys.check()
  keys.check()
  expect(keys.current()).toHaveLength(2)
  expect(lines).toMatchObject([
    { msg: 'service-keys.changed' },
    { msg: 'service-keys.refused', problems: [expect.stringMatching(/^SERVICE_PUBLIC_KEYS_FILE must be one to 5/)] },
  ])
  expect(JSON.stringify(lines)).not.toContain('canary')
})
