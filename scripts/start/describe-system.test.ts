import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openDataFolder } from './data-folder.ts'
import { describeSystem } from './describe-system.ts'
import { makeDevelopmentSecrets } from './development-secrets.ts'
import { toProvidersFile } from './service-environments.ts'

const address = (port: number) => ({ host: '127.0.0.1', port, url: `http://127.0.0.1:${port}` })
const secrets = makeDevelopmentSecrets(randomBytes)
const folder = mkdtempSync(join(tmpdir(), 'oncehook-described-'))
afterAll(() => rmSync(folder, { recursive: true }))

function describeWith(env: NodeJS.ProcessEnv) {
  const data = openDataFolder(folder, {})
  const addresses = { gateway: address(1), admin: address(2), fulfilment: address(3) }
  return describeSystem({ env, secrets, data, addresses, mongoUri: '' }, { mongo: '', link: null, next: [] })
}

describe('the description of a running system', () => {
  it.each([
    [{}, join(folder, '.data/providers.json')],
    [{ PROVIDERS_FILE: 'mine.json' }, resolve('mine.json')],
    [{ PROVIDERS: '{}' }, null],
  ])('names the file of the providers that the gateway uses: %j', (env, file) => {
    expect(describeWith(env).running.providersFile).toBe(file)
  })

  it('says whose secret each variable in the file of the providers holds, and shows none', () => {
    const { secretVariables } = describeWith({}).running
    const variables = JSON.stringify(toProvidersFile(secrets)).match(/ONCEHOOK_\w+/g)
    expect(Object.keys(secretVariables ?? {})).toEqual(variables)
    expect(secretVariables).toMatchObject({ ONCEHOOK_ACME_SECRET: 'acme' })
  })
})
