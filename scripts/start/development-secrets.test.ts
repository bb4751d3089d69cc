import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readDevelopmentSecrets } from './development-secrets.ts'

async function folder() {
  const path = await mkdtemp(join(tmpdir(), 'oncehook-secrets-'))
  return { file: join(path, 'secrets.json'), [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

describe('readDevelopmentSecrets', () => {
  it('makes long random secrets once, for this user only', async () => {
    await using data = await folder()
    const made = readDevelopmentSecrets(data.file, randomBytes)
    expect((await stat(data.file)).mode & 0o777).toBe(0o600)
    expect(readDevelopmentSecrets(data.file, randomBytes)).toEqual(made)
    const key = made.providers.acme?.secrets[0]?.value.replace(/^whsec_/, '') ?? ''
    expect(Buffer.from(key, 'base64')).toHaveLength(32)
    for (const token of [made.apiTokens.dev, made.operatorTokens.dev]) {
      expect(token?.length).toBeGreaterThanOrEqual(32)
    }
    await using other = await folder()
    expect(readDevelopmentSecrets(other.file, randomBytes).serviceKeys).not.toEqual(made.serviceKeys)
  })

  it('makes a Stripe provider without Connect, so that no start warns about its account', async () => {
    await using data = await folder()
    expect(readDevelopmentSecrets(data.file, randomBytes).providers.stripe).toMatchObject({ expect: {} })
  })

  it('makes the file readable only for its user', async () => {
    await using data = await folder()
    readDevelopmentSecrets(data.file, randomBytes)
    await chmod(data.file, 0o644)
    readDevelopmentSecrets(data.file, randomBytes)
    expect((await stat(data.file)).mode & 0o777).toBe(0o600)
  })

  it.each(['{"apiTokens": "half a fi', '{"apiTokens": "alone"}'])(
    'refuses a damaged file without quoting it',
    async (content) => {
      await using data = await folder()
      await writeFile(data.file, content)
      const refusal = () => readDevelopmentSecrets(data.file, randomBytes)
      expect(refusal).toThrow(`${data.file} was not written by npm start`)
      expect(refusal).not.toThrow(/half|alone/)
    },
  )
})
