import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { operateEvents } from '../testing/operated-events.ts'
import { makeDataFolder, runCommand } from '../testing/run-command.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const { operatorToken, run } = operateEvents(system)

describe('the gateway and its token', () => {
  it('are those of npm start, and the token is sent to no other gateway', async () => {
    const { url, adminUrl } = system.gateway
    await using folder = await makeDataFolder(url, { adminUrl, operatorToken })
    const { dataFolder } = folder
    expect(await runCommand(['events', 'list', '--limit', '1'], { dataFolder })).toMatchObject({ exitCode: 0 })
    const elsewhere = await runCommand(['events', 'list', '--admin-url', 'http://127.0.0.1:1'], { dataFolder })
    expect(elsewhere).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--token-file') })
  })

  it('refuses a token as an argument, and does not print it', async () => {
    for (const args of [['--token', 'canary'], ['--token=canary']]) {
      const { exitCode, stderr } = await runCommand(['events', 'list', ...args], { operatorToken })
      expect({ exitCode, stderr }).toEqual({
        exitCode: 2,
        stderr: 'Do not pass a token as an argument: use --token-file or ONCEHOOK_OPERATOR_TOKEN\n',
      })
    }
  })

  it('can be named, the token by a file', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:1')
    const tokenFile = join(folder.dataFolder, 'token')
    await writeFile(tokenFile, `${operatorToken}\n`)
    const args = ['events', 'list', '--admin-url', system.gateway.adminUrl, '--token-file', tokenFile]
    expect(await runCommand(args)).toMatchObject({ exitCode: 0 })
    await writeFile(tokenFile, ' \n')
    expect(await runCommand(args)).toMatchObject({ exitCode: 2, stderr: 'The file given by --token-file is empty\n' })
  })

  it('exits with 1 and says why if nothing runs, no server answers, or the token is not accepted', async () => {
    const nothing = await runCommand(['events', 'list'], { operatorToken })
    expect(nothing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('npm start') })
    const away = await runCommand(['events', 'list', '--admin-url', 'http://127.0.0.1:1'], { operatorToken })
    expect(away).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('does not answer') })
    const notAdmin = await runCommand(['events', 'list', '--admin-url', system.gateway.url], { operatorToken })
    expect(notAdmin).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is this the admin URL') })
    const token = `${operatorToken}x`
    const refused = await run(['events', 'list', '--json'], { operatorToken: token })
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('rejected this token') })
    expect(JSON.parse(refused.stdout)).toMatchObject({ result: 'failed' })
    expect(refused.stdout + refused.stderr).not.toContain(token)
  })
})

it('events show says why an event has no effect, and what to do', async () => {
  const record = sampleRecord({ state: 'unhandled', reason: 'not_expected' })
  await system.events.insertOne(record)
  const { stdout } = await run(['events', 'show', String(record._id)])
  expect(stdout).toMatch(/^State +unhandled: not_expected\nBecause +.*`livemode`.*\nWhat to do +.*"testMode": true/m)
})
