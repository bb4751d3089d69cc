import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CommandFailure } from '../command.ts'
import { fakeSecret, fakeToken } from '../testing/fake-gateway.ts'
import { makeDataFolder, runCommand } from '../testing/run-command.ts'
import { findLocalSystem, protectToken } from './gateway-address.ts'

describe('findLocalSystem', () => {
  it('finds the running system, its first token, the file of its providers and their development secrets', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:8080/')
    const found = await findLocalSystem(folder.dataFolder)
    expect(found).toMatchObject({
      gatewayUrl: 'http://127.0.0.1:8080',
      adminUrl: 'http://127.0.0.1:8080',
      apiToken: fakeToken,
      operatorToken: 'unused',
      secretsFile: join(folder.dataFolder, 'secrets.json'),
      providersFile: join(folder.dataFolder, 'providers.json'),
    })
    expect(found?.developmentSecrets.get('ONCEHOOK_ACME_SECRET')).toBe(fakeSecret)
  })

  it('finds nothing in a missing folder', async () => {
    expect(await findLocalSystem('/nowhere')).toBeNull()
  })

  it('finds nothing if the process that wrote the file is gone', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:8080', { pid: 2 ** 22 + 1 })
    expect(await findLocalSystem(folder.dataFolder)).toBeNull()
  })

  it('says when the secrets are gone', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:8080')
    await rm(join(folder.dataFolder, 'secrets.json'))
    await expect(findLocalSystem(folder.dataFolder)).rejects.toThrow('The file with the development secrets is missing')
  })

  it.each([['running.json'], ['secrets.json']])(
    'names a %s that it cannot understand, and none of its content',
    async (name) => {
      await using folder = await makeDataFolder('http://127.0.0.1:8080')
      await writeFile(join(folder.dataFolder, name), `{"gatewayUrl":"${fakeSecret}"`)
      const failure = await findLocalSystem(folder.dataFolder).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(CommandFailure)
      expect(String(failure)).toContain(`${name} is not a file that \`npm start\` writes`)
      expect(String(failure)).not.toContain(fakeSecret)
    },
  )

  it('names a file that it may not read', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:8080')
    const { dataFolder } = folder
    const file = join(dataFolder, 'running.json')
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), secretsFile: '.' }))
    await expect(findLocalSystem(dataFolder)).rejects.toThrow(`${dataFolder} cannot be read`)
  })
})

describe('a token', () => {
  it.each(['http://10.0.0.5:8081', 'http://gateway.example', 'http://localhost.example', 'http://[fd00::1]:8081'])(
    'does not go to %s unless the user says so',
    (url) => {
      expect(() => protectToken('--url', url)).toThrow('--insecure-http')
      expect(() => protectToken('--url', url, true)).not.toThrow()
    },
  )

  it.each(['https://gateway.example', 'http://127.0.0.1:8081', 'http://localhost:8081', 'http://[::1]:8081'])(
    'may go to %s',
    (url) => {
      expect(() => protectToken('--admin-url', url)).not.toThrow()
    },
  )

  it.each([
    ['overview', '--admin-url', 'http://10.0.0.5:8081'],
    ['sign-in', '--admin-url', 'http://10.0.0.5:8081'],
    ['doctor', '--admin-url', 'http://10.0.0.5:8081'],
    ['doctor', '--url', 'http://10.0.0.5:8080', '--api-token-file', import.meta.filename],
    [
      'send',
      '--url',
      'http://10.0.0.5:8080',
      '--token-file',
      import.meta.filename,
      '--secret-file',
      import.meta.filename,
    ],
  ])('is asked of nobody on the way to another machine: %s %s %s', async (...args) => {
    const asked: string[] = []
    const fetch: typeof globalThis.fetch = async (input) => {
      asked.push(String(input))
      return Response.json({})
    }
    const ran = await runCommand(args, { fetch, operatorToken: fakeToken })
    expect({ ...ran, asked }).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--insecure-http'),
      asked: [],
    })
    const told = await runCommand([...args, '--insecure-http'], { fetch, operatorToken: fakeToken })
    expect(told.stderr).not.toContain('--insecure-http')
  })
})
