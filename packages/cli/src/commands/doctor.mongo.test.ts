import { randomUUID } from 'node:crypto'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { PROVIDERS, paymentEvent, startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { CliContext } from '../command.ts'
import type { Finding } from '../doctor/finding.ts'
import { makeDataFolder, runCommand } from '../testing/run-command.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const { url, adminUrl } = system.gateway
const { alice: operatorToken } = system.tokens.operators
const { api: apiToken } = system.tokens
const folder = stack.use(await makeDataFolder(url, { adminUrl, apiToken, operatorToken }))
const orders = system.fulfilment.db.collection<{ _id: string }>('orders')

beforeEach(async () => {
  await system.events.deleteMany()
  await orders.deleteMany()
})

async function examine(overrides: Partial<CliContext> = {}, args: readonly string[] = []) {
  const { exitCode, stdout } = await runCommand(['doctor', ...args, '--json'], { ...folder, ...overrides })
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  const of = (check: string): Finding | undefined => findings.find((finding) => finding.check === check)
  return { exitCode, findings, of, stdout }
}

describe('doctor', () => {
  it('prints one line per check if all is well', async () => {
    const { exitCode, findings } = await examine()
    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([])
    expect(findings.map(({ check }) => check)).toEqual([
      ...['settings', 'gateway', 'clock', 'api token', 'admin', 'mongodb', 'fulfilment', 'operator token'],
      ...['dead events', 'backlog', 'pauses', 'withheld events', 'handlers', 'receipts', 'secrets', 'encryption'],
    ])
    expect(exitCode).toBe(0)
    const { stdout } = await runCommand(['doctor'], folder)
    expect(stdout.trimEnd().split('\n')).toHaveLength(findings.length)
    expect(stdout).toContain(`ok      gateway         ${url} answers\n`)
  })

  it('reports failed events, a backlog, parked receipts and secrets that expire soon, with what to do', async () => {
    const secret = { ...PROVIDERS.acme.secrets[0], notAfter: new Date(Date.now() + 86_400_000).toISOString() }
    const ended = { ...PROVIDERS.shop.secrets[0], notAfter: '2020-01-01T00:00:00Z' }
    await system.writeProviders({
      acme: { ...PROVIDERS.acme, secrets: [secret] },
      shop: { ...PROVIDERS.shop, secrets: [ended] },
    })
    const id = randomUUID()
    const orderId = await system.order()
    await system.deliver(paymentEvent(id, { orderId }))
    await system.until(id, ({ state }) => state === 'done')
    await expect.poll(() => orders.countDocuments({ 'receipts.state': 'sent' })).toBe(1)
    await orders.updateOne({ _id: orderId }, { $set: { 'receipts.0.state': 'parked', 'receipts.0.dueAt': null } })
    // Later than any delay that is ever set would count as passed.
    const later = new Date(Date.now() + 50_000)
    await system.events.insertMany([
      sampleRecord({ state: 'dead', reason: 'amount_mismatch' }),
      sampleRecord({ state: 'pending', dueAt: later, receivedAt: new Date(Date.now() - 7_200_000) }),
    ])
    await expect.poll(async () => (await examine()).of('secrets')?.level).not.toBe('ok')
    const { exitCode, of, findings } = await examine()
    expect(of('dead events')).toMatchObject({ level: 'warning', message: '1 dead: 1 amount_mismatch' })
    expect(of('backlog')).toMatchObject({ level: 'warning', message: '1 not settled, the oldest is 2.0 h old' })
    expect(of('receipts')).toMatchObject({ level: 'warning', message: '1 parked' })
    expect(findings.filter(({ check }) => check === 'secrets')).toMatchObject([
      { level: 'warning', message: expect.stringMatching(/^The secret newer of acme is in use and expires 20/) },
      { level: 'failure', message: 'Every secret of shop has expired' },
    ])
    for (const { level, todo } of findings) expect(todo === undefined).toBe(level === 'ok')
    expect(exitCode).toBe(1)
    const { stdout } = await runCommand(['doctor'], folder)
    expect(stdout).toMatch(/^WARN +dead events +1 dead: 1 amount_mismatch\n +-> Run oncehook events list/m)
    await system.writeProviders(PROVIDERS)
    await expect.poll(async () => (await examine()).of('secrets')?.level).toBe('ok')
  })

  it('counts the events without an effect by reason, and says what to do about each that should not be', async () => {
    const withheld = (reason: string) => sampleRecord({ state: 'unhandled', reason })
    expect(await system.deliver('no JSON')).toBe(200)
    expect(await system.deliver({ ...paymentEvent(randomUUID(), { orderId: 'ord_1' }), livemode: false })).toBe(200)
    await system.events.insertMany([
      ...['unreadable', 'effect_not_allowed', 'not_paid', 'ambiguous'].map(withheld),
      ...['type_unhandled', 'test'].map(withheld),
    ])
    const { exitCode, findings } = await examine()
    const cure = (reason: string, more: string) =>
      expect.stringMatching(
        `^Run oncehook events list --state unhandled --failed-with ${reason}\\. .*${more}.* replay it`,
      )
    expect(findings.filter(({ check }) => check === 'withheld events')).toEqual([
      {
        ...{ check: 'withheld events', level: 'warning', todo: cure('unreadable', 'mapping') },
        message: '2 without an effect: nobody could read it as an event (unreadable)',
      },
      {
        ...{ check: 'withheld events', level: 'warning', todo: cure('not_expected', '"testMode": true') },
        message: expect.stringMatching(/^1 without an effect: .*`livemode` and `account`.* \(not_expected\)$/),
      },
      {
        ...{ check: 'withheld events', level: 'warning', todo: cure('effect_not_allowed', '`effects`') },
        message: expect.stringMatching(/^1 .* \(effect_not_allowed\)$/),
      },
      { check: 'withheld events', level: 'ok', message: expect.stringMatching(/^1 .* \(not_paid\)$/) },
      { check: 'withheld events', level: 'ok', message: expect.stringMatching(/^1 .* \(ambiguous\)$/) },
    ])
    expect(exitCode).toBe(0)
  })

  it('shows a paused provider, and does not count its waiting events as a backlog', async () => {
    const { pause, resume } = system.operator().providers
    await pause.mutate({ provider: 'shop', reason: 'a wrong mapping' })
    const receivedAt = new Date(Date.now() - 7_200_000)
    await system.events.insertOne(sampleRecord({ provider: 'shop', state: 'pending', receivedAt }))
    const { of } = await examine()
    expect(of('pauses')).toMatchObject({
      level: 'ok',
      message: 'Paused: shop (providers list and handlers list show why)',
    })
    expect(of('backlog')).toMatchObject({ level: 'ok' })
    await resume.mutate({ provider: 'shop', reason: 'the mapping is right' })
    expect((await examine()).of('pauses')).toMatchObject({
      level: 'ok',
      message: 'No provider and no handler is paused',
    })
  })

  it.each([
    [-3_600_000, 'failure'],
    [20_000, 'warning'],
    [1_000, 'ok'],
  ])('reports a clock that is %d ms off', async (awayMs, level) => {
    const { of } = await examine({ now: () => Date.now() + awayMs })
    expect(of('clock')?.level).toBe(level)
  })

  it('reports a token that is not accepted, and prints no token', async () => {
    const wrong = `${operatorToken}-wrong`
    const { exitCode, of, findings, stdout } = await examine({ operatorToken: wrong })
    expect(of('operator token')).toMatchObject({ level: 'failure', message: 'The token was rejected' })
    expect(of('api token')).toMatchObject({ level: 'ok' })
    expect(findings.at(-1)?.check).toBe('operator token')
    expect(exitCode).toBe(1)
    for (const token of [wrong, operatorToken, apiToken]) expect(stdout).not.toContain(token)
  })

  it('checks another gateway without the tokens of the local one', async () => {
    const args = ['--url', 'http://127.0.0.1:1', '--admin-url', adminUrl]
    const { exitCode, of } = await examine({}, args)
    expect(of('settings')?.message).toBe(`As given: http://127.0.0.1:1 and ${adminUrl}`)
    expect(of('gateway')).toMatchObject({ level: 'failure', message: 'http://127.0.0.1:1 does not answer' })
    expect(of('operator token')).toMatchObject({ level: 'warning', todo: 'Give --token-file' })
    expect(exitCode).toBe(1)
  })

  it('notices addresses that are mixed up', async () => {
    const { of } = await examine({}, ['--url', adminUrl, '--admin-url', url])
    expect(of('gateway')).toMatchObject({
      level: 'failure',
      message: expect.stringContaining('not the public listener'),
    })
    expect(of('admin')).toMatchObject({
      level: 'failure',
      message: expect.stringContaining('not the private listener'),
    })
  })

  it('says that no system runs here', async () => {
    const { exitCode, findings } = await examine({ dataFolder: '/nowhere' })
    expect(findings).toMatchObject([
      { check: 'settings', level: 'failure', message: expect.stringContaining('npm start') },
    ])
    expect(exitCode).toBe(1)
  })

  it('names a dependency that is unavailable, and continues', async () => {
    const ofProviders = { PROVIDERS: '', PROVIDERS_FILE: system.providersFile }
    const ofTokens = {
      API_TOKENS: JSON.stringify({ tests: apiToken }),
      OPERATOR_TOKENS: JSON.stringify({ alice: operatorToken }),
    }
    await using gateway = await startGateway({ database, settings: { ...ofProviders, ...ofTokens } })
    await using data = await makeDataFolder(gateway.url, { adminUrl: gateway.adminUrl, apiToken, operatorToken })
    const { exitCode, of } = await examine(data)
    expect(of('fulfilment')).toMatchObject({ level: 'failure', message: 'The gateway cannot reach fulfilment' })
    expect(of('mongodb')).toMatchObject({ level: 'ok' })
    expect(of('api token')).toMatchObject({ level: 'warning' })
    expect(of('receipts')).toMatchObject({ level: 'warning', message: expect.stringContaining('Not checked') })
    expect(of('secrets')).toBeDefined()
    expect(exitCode).toBe(1)
  })
})
