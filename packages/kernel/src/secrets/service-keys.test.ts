import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { memoryLogger } from '../testing/memory-logger.ts'
import { settingsProblems } from '../testing/settings-problems.ts'
import { temporaryFiles } from '../testing/temporary-files.ts'
import { createServiceKeysSource, type KeyUse, watchServiceKeys } from './service-keys.ts'

const files = await temporaryFiles()
afterAll(() => files[Symbol.asyncDispose]())

const OLD = 'canary-the-old-secret-of-the-services-1'
const NEW = 'canary-the-new-secret-of-the-services-2'
const pair = generateKeyPairSync('ed25519')
const PRIVATE = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const PUBLIC = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()
const RSA = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey.export({ type: 'spki', format: 'pem' })

const read = (env: NodeJS.ProcessEnv, use: KeyUse = 'verify') => createServiceKeysSource(env, use).read()
const list = (...entries: unknown[]) => ({ SERVICE_TOKEN_SECRETS: JSON.stringify(entries) })

const problemsOf = (env: NodeJS.ProcessEnv, use: KeyUse = 'verify') => settingsProblems(() => read(env, use))

describe('the keys of service tokens', () => {
  it('are one secret', () => {
    expect(read({ SERVICE_TOKEN_SECRET: OLD }).map(({ verifying }) => verifying.export())).toEqual([Buffer.from(OLD)])
  })

  it('are several, in the settings, in files, in variables and in a file as a whole', async () => {
    const file = await files.write(`${NEW}\n`)
    const env = { OTHER: OLD, ...list({ file }, { env: 'OTHER' }, `${OLD}-3`) }
    const texts = [NEW, OLD, `${OLD}-3`].map((text) => Buffer.from(text))
    expect(read(env).map(({ verifying }) => verifying.export())).toEqual(texts)
    const whole = { OTHER: OLD, SERVICE_TOKEN_SECRETS_FILE: await files.write(String(env.SERVICE_TOKEN_SECRETS)) }
    expect(read(whole)).toHaveLength(3)
  })

  it('are an Ed25519 pair, and fulfilment has only the public key', async () => {
    const [signing, verifying] = [await files.write(PRIVATE), await files.write(PUBLIC)]
    expect(read(list({ file: signing }), 'sign')).toMatchObject([{ algorithm: 'EdDSA' }])
    expect(read(list({ file: verifying }, OLD))).toMatchObject([{ algorithm: 'EdDSA', signing: null }, {}])
    expect(problemsOf(list({ file: verifying }, OLD), 'sign')).toEqual([
      'SERVICE_TOKEN_SECRETS.0 is a public key, but the first entry signs: use a private key or a secret',
    ])
    expect(problemsOf(list(OLD, { file: verifying }), 'sign')).toEqual([])
    expect(problemsOf(list(OLD, PRIVATE))).toEqual([
      'SERVICE_TOKEN_SECRETS.1 is a private key: fulfilment needs the public key (openssl pkey -in <file> -pubout)',
    ])
  })

  const shape = /^SERVICE_TOKEN_SECRETS must be a JSON array of 1 to 5 entries/
  it.each<[string, NodeJS.ProcessEnv, string | RegExp]>([
    ['nothing', {}, 'SERVICE_TOKEN_SECRET is not set'],
    [
      'both settings',
      { SERVICE_TOKEN_SECRET: OLD, ...list(OLD) },
      /^SERVICE_TOKEN_SECRETS and SERVICE_TOKEN_SECRET are both set/,
    ],
    ['no JSON', { SERVICE_TOKEN_SECRETS: OLD }, shape],
    ['an object', { SERVICE_TOKEN_SECRETS: JSON.stringify({ a: OLD }) }, shape],
    ['an empty list', list(), shape],
    ['six', list(...[1, 2, 3, 4, 5, 6].map((n) => `${OLD}${n}`)), shape],
    ['a number', list(OLD, 7), shape],
    ['a short one', list(OLD, 'canary'), 'SERVICE_TOKEN_SECRETS.1 is shorter than 32 characters'],
    ['a sample', list(`changeme-${OLD}`), 'SERVICE_TOKEN_SECRETS.0 is a sample placeholder'],
    ['one twice', list(OLD, NEW, OLD), 'SERVICE_TOKEN_SECRETS.2 is the same as SERVICE_TOKEN_SECRETS.0'],
    ['a missing file', list(OLD, { file: '/nowhere/canary' }), 'SERVICE_TOKEN_SECRETS.1 cannot be read'],
    ['a missing variable', list({ env: 'NOBODY' }), 'SERVICE_TOKEN_SECRETS.0 cannot be read'],
    ['an RSA key', list(RSA), 'SERVICE_TOKEN_SECRETS.0 is not an Ed25519 key (openssl genpkey -algorithm ed25519)'],
    ['a broken key', list(PUBLIC.slice(0, 60)), /^SERVICE_TOKEN_SECRETS.0 is not an Ed25519 key/],
  ])('are refused if they are %s, without a value', (_, env, problem) => {
    const problems = problemsOf(env)
    expect(problems).toEqual([typeof problem === 'string' ? problem : expect.stringMatching(problem)])
    expect(problems.join()).not.toContain('canary')
  })

  it('are refused if a file is not UTF-8 text', async () => {
    const file = join(files.folder, 'bent')
    await writeFile(file, Buffer.concat([Buffer.from(OLD), Buffer.from([0xff])]))
    expect(problemsOf(list({ file }))).toEqual(['SERVICE_TOKEN_SECRETS.0 is not UTF-8 text'])
  })

  it('follow their files, and do not change while a file is wrong', async () => {
    const [first, second] = [await files.write(OLD), await files.write(NEW)]
    const settings = await files.write(JSON.stringify([{ file: first }]))
    const { logger, lines } = memoryLogger()
    const keys = watchServiceKeys(createServiceKeysSource({ SERVICE_TOKEN_SECRETS_FILE: settings }, 'sign'), logger)
    const texts = () => keys.current().map(({ verifying }) => verifying.export().toString())
    await writeFile(settings, JSON.stringify([{ file: second }, { file: first }]))
    keys.check()
    expect(texts()).toEqual([NEW, OLD])
    await writeFile(second, `${NEW}-changed\n`)
    keys.check()
    expect(texts()).toEqual([`${NEW}-changed`, OLD])
    await writeFile(second, 'canary')
    keys.check()
    keys.check()
    expect(texts()).toEqual([`${NEW}-changed`, OLD])
    expect(lines).toMatchObject([
      { msg: 'service-keys.changed', keys: 2 },
      { msg: 'service-keys.changed', keys: 2 },
      { msg: 'service-keys.refused', problems: ['SERVICE_TOKEN_SECRETS_FILE.0 is shorter than 32 characters'] },
    ])
    expect(JSON.stringify(lines)).not.toContain('canary')
  })
})
