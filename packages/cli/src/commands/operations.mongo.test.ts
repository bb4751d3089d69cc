import { randomUUID } from 'node:crypto'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import {
  cookieOf,
  PROVIDERS,
  pageHeaders,
  paymentEvent,
  startOperatedSystem,
} from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { runCommand } from '../testing/run-command.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const { alice: operatorToken } = system.tokens.operators
const orders = system.fulfilment.db.collection<{ _id: string }>('orders')
const why = ['--reason', 'the customer got none']

function run(args: readonly string[]) {
  return runCommand([...args, '--admin-url', system.gateway.adminUrl], { operatorToken })
}

async function runJson<T>(args: readonly string[]): Promise<T> {
  return JSON.parse((await run([...args, '--json'])).stdout) as T
}

/** Pays an order and parks its receipt, as if nobody knew whether it left. */
async function parkedReceipt(): Promise<{ orderId: string; key: string }> {
  const id = randomUUID()
  const orderId = await system.order()
  await system.deliver(paymentEvent(id, { orderId }))
  const list = () => runJson<{ items: { key: string; state: string }[] }>(['receipts', 'list', '--order', orderId])
  await expect.poll(list).toMatchObject({ items: [{ state: 'sent' }] })
  const lastError = { code: 'receipt_outcome_unknown', at: new Date() }
  const parked = { 'receipts.0.state': 'parked', 'receipts.0.dueAt': null, 'receipts.0.lastError': lastError }
  await orders.updateOne({ _id: orderId }, { $set: parked })
  return { orderId, key: (await list()).items[0]?.key ?? '' }
}

describe('receipts', () => {
  it('lists those that are parked, with the error that parked them', async () => {
    const { orderId, key } = await parkedReceipt()
    const { exitCode, stdout } = await run(['receipts', 'list', '--state', 'parked', '--order', orderId])
    expect(exitCode).toBe(0)
    const [head, line] = stdout.split('\n')
    expect(head).toMatch(/^KEY +ORDER +PAYMENT +AMOUNT +PAID +STATE +ATTEMPTS +LAST ERROR +SENT$/)
    expect(line?.split(/ {2,}/).slice(0, 4)).toEqual([key, orderId, expect.stringMatching(/^pay_/), '3.00 EUR'])
    expect(line).toMatch(/ parked +1 +receipt_outcome_unknown /)
    expect((await run(['receipts', 'list', '--order', 'ord_of_nobody'])).stdout).toBe('No receipts\n')
  })
})

describe('providers list', () => {
  it('shows the deliveries of each and which secrets matched, never a value', async () => {
    const ends = '2099-01-01T00:00:00Z'
    const [newer, older] = PROVIDERS.acme.secrets
    await system.writeProviders({
      ...PROVIDERS,
      acme: { ...PROVIDERS.acme, secrets: [newer, { ...older, notAfter: ends }] },
      quiet: PROVIDERS.shop,
    })
    await system.deliver(paymentEvent(randomUUID(), {}, 'customer.created'), { secret: system.secrets.older })
    const list = async () => (await run(['providers', 'list'])).stdout
    await expect.poll(list).toMatch(/^acme +older +2099-01-01 00:00:00Z +1 +20/m)
    const stdout = await list()
    expect(stdout).toMatch(/^PROVIDER +SCHEME +PATH +OLDEST UNSETTLED +DELIVERIES$/m)
    expect(stdout).toMatch(/^acme +stripe +\/api\/webhooks\/acme +\S.* \d+ unhandled/m)
    expect(stdout).toMatch(/^quiet +hmac +\/api\/webhooks\/quiet +- +none yet$/m)
    expect(stdout).toMatch(/^quiet +only +never +0 +-$/m)
    const json = JSON.stringify(await runJson(['providers', 'list']))
    for (const secret of Object.values(system.secrets)) expect(stdout + json).not.toContain(secret)
  })
})

describe('refused', () => {
  it('lists deliveries that were refused, with what is known of the cause, never a signature', async () => {
    const forger = 'the secret of a forger'
    await system.deliver(paymentEvent(randomUUID()), { secret: forger })
    await system.deliver(paymentEvent(randomUUID()), { timestamp: Math.floor(Date.now() / 1_000) - 86_400 })
    await system.deliver('no JSON', { provider: 'shop' })
    const list = () => run(['refused', '--limit', '2'])
    await expect.poll(async () => (await list()).stdout).toMatch(/^More: repeat with --after [0-9a-f]{24}$/m)
    const { exitCode, stdout } = await list()
    expect(exitCode).toBe(0)
    const [head, newest, older] = stdout.split('\n')
    expect(head).toMatch(/^AT +PROVIDER +REASON +STATUS +NETWORK +BYTES +TRIED +CAUSE$/)
    expect(newest?.split(/ {2,}/).slice(1)).toEqual([
      ...['shop', 'syntax', '400', '127.0.0.0/24', '7', 'only', expect.stringContaining('JSON')],
    ])
    expect(older).toMatch(/ {2}timestamp_outside_window {2}401 .* {2}The signed time is 24.0 h old \(\d+ s\)/)
    const mismatch = await run(['refused', '--provider', 'acme', '--reason', 'signature_mismatch'])
    expect(mismatch.stdout).toMatch(/ {2}newer, older {2}Possibly: The signature was made with another stripe secret/)
    expect((await run(['refused', '--provider', 'nobody'])).stdout).toBe('No refused deliveries\n')
    const json = JSON.stringify(await runJson(['refused']))
    for (const secret of [...Object.values(system.secrets), forger]) expect(stdout + json).not.toContain(secret)
  })
})

describe('overview', () => {
  beforeEach(() => system.events.deleteMany())

  it('counts the events by state and the dead by reason', async () => {
    // A longer wait than the gateway gives counts as over.
    const later = new Date(Date.now() + 50_000)
    const receivedAt = new Date(Date.now() - 9_000_000)
    await system.events.insertMany([
      sampleRecord(),
      sampleRecord({ state: 'dead', reason: 'amount_mismatch' }),
      sampleRecord({ state: 'dead', reason: 'amount_mismatch' }),
      sampleRecord({ state: 'dead', reason: 'order_unknown' }),
      sampleRecord({ state: 'pending', dueAt: later, receivedAt }),
    ])
    const { exitCode, stdout } = await run(['overview'])
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: [
        ...['Pending     1', 'Processing  0', 'Done        1', 'Unhandled   0', 'Dead        3'],
        ...['  amount_mismatch: 2', '  order_unknown: 1', 'Closed      0', 'Oldest      2.5 h unsettled'],
        ...['Received    4 in the last minute', ''],
      ].join('\n'),
    })
    expect(await runJson(['overview'])).toMatchObject({ states: { dead: 3, pending: 1 } })
  })
})

describe('audit list', () => {
  it('shows who did what and why, and how to see the next page', async () => {
    const { key } = await parkedReceipt()
    await run(['receipts', 'release', 'receipt_of_nobody', ...why])
    await run(['receipts', 'release', key, ...why])
    // Of a provider without dead events, so that nothing is made due beside other tests.
    await run(['events', 'replay', '--provider', 'shop', '--no-wait', '--reason', 'it is fixed'])
    const { exitCode, stdout } = await run(['audit', 'list', '--limit', '2'])
    expect(exitCode).toBe(0)
    const [head, first, second, more] = stdout.split('\n')
    expect(head).toMatch(/^AT +BY +ACTION +REASON +DETAILS$/)
    expect(first).toMatch(
      /Z +alice +events\.replay +it is fixed +\{"filter":\{"provider":"shop","state":"dead"\},"matched":0/,
    )
    expect(second).toMatch(/Z +alice +receipts\.release +the customer got none +\{"key":"/)
    expect(more).toMatch(/^More: repeat with --after [0-9a-f]{24}$/)
    const { items } = await runJson<{ items: object[] }>(['audit', 'list', '--after', more?.split(' ').at(-1) ?? ''])
    expect(items[0]).toMatchObject({ action: 'receipts.release', details: { key: 'receipt_of_nobody' } })
  })
})

describe('erase', () => {
  it('erases the personal data of an order, and finds nothing the second time', async () => {
    const eventId = randomUUID()
    const orderId = await system.order()
    await system.deliver(paymentEvent(eventId, { orderId }))
    const isSent = () => orders.countDocuments({ _id: orderId, 'receipts.state': 'sent' })
    await expect.poll(isSent).toBe(1)
    await system.until(eventId, ({ state }) => state === 'done')
    const erase = ['erase', '--order', orderId, '--reason', 'asked for by mail']
    expect((await run([...erase, '--dry-run'])).stdout).toBe(`2 records would be erased\nOrders: ${orderId}\n`)
    expect(await run(erase)).toMatchObject({
      exitCode: 0,
      stdout: `2 records erased; keys and hashes remain\nOrders: ${orderId}\n`,
    })
    expect((await run(erase)).stdout).toBe('Nothing to erase: only keys and hashes are stored\n')
    expect(await runJson(erase)).toEqual({ matched: 0, erased: 0, orders: [] })
  })

  it.each([[], ['--json']])('shows the orders that it has deleted if a later call is refused: %s', async (...json) => {
    const customerId = `cus_${randomUUID()}`
    const [first, second] = [await system.order(), await system.order()]
    const give = (_id: string) => orders.updateOne({ _id }, { $set: { customerId } })
    await give(first)
    let calls = 0
    const fetchSlowly: typeof fetch = async (input, init) => {
      calls += 1
      if (calls === 2) {
        await give(second)
        // Not due during this test. A time that is later than any that a gateway sets would count as due.
        const dueAt = new Date(Date.now() + 30_000)
        await system.events.insertOne(sampleRecord({ orderId: second, state: 'pending', dueAt }))
      }
      return fetch(input, init)
    }
    const args = ['erase', '--customer', customerId, '--reason', 'asked for by mail', ...json]
    const overrides = { operatorToken, fetch: fetchSlowly }
    const ran = await runCommand([...args, '--admin-url', system.gateway.adminUrl], overrides)
    expect(ran).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('(erase_unsettled)') })
    const shown = json.length === 0 ? ran.stdout : ran.stderr
    expect(shown).toContain(`1 record erased; keys and hashes remain\nOrders: ${first}\n`)
    if (json.length > 0) expect(JSON.parse(ran.stdout)).toMatchObject({ result: 'failed' })
  })
})

describe('sign-in', () => {
  it('prints a link that signs in once', async () => {
    const { exitCode, stdout } = await run(['sign-in'])
    const [link = '', hint] = stdout.split('\n')
    expect([exitCode, hint]).toEqual([0, expect.stringMatching(/^Works once, until \d{4}-.+Z\. Anyone/)])
    expect(link.slice(0, link.indexOf('#'))).toBe(`${system.gateway.adminUrl}/sign-in`)
    const exchange = () =>
      system.call('/sign-in', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ code: new URL(link).hash.slice(1) }),
      })
    expect(await exchange()).toMatchObject({ status: 200, body: expect.stringContaining('"operator":"alice"') })
    expect((await exchange()).status).toBe(401)
    expect(await runJson(['sign-in'])).toEqual({
      url: expect.stringContaining(`${system.gateway.adminUrl}/sign-in#`),
      expiresAt: expect.stringMatching(/^\d{4}-/),
    })
  })
})

describe('sessions', () => {
  it('lists them, ends one, and ends all of an operator', async () => {
    const signIn = async (name: 'alice' | 'bob') => {
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ token: system.tokens.operators[name] })
      return pageHeaders(cookieOf(await system.call('/sign-in', { method: 'POST', headers, body })))['oncehook-session']
    }
    await database.db.collection('operator_sessions').deleteMany({})
    const ids = [await signIn('alice'), await signIn('bob'), await signIn('bob')]
    const { stdout } = await run(['sessions', 'list'])
    expect(stdout).toMatch(/^SESSION +OPERATOR +OPENED +LAST USED +ENDS\n/)
    for (const [place, id] of ids.entries())
      expect(stdout).toMatch(new RegExp(`^${id} +${place === 0 ? 'alice' : 'bob'} `, 'm'))
    expect((await run(['sessions', 'end', String(ids[0]), ...why])).stdout).toBe('Ended: 1\n')
    expect((await run(['sessions', 'end', String(ids[0]), ...why])).stdout).toMatch(/^No session ended/)
    expect((await run(['sessions', 'end-all', 'bob', ...why])).stdout).toBe('Ended: 2\n')
    expect((await run(['sessions', 'list'])).stdout).toBe('No sessions\n')
  })
})

describe('audit verify', () => {
  it('verifies the chain, and prints what to compare it with later', async () => {
    await system.operator().audit.list.query()
    await run(['receipts', 'release', 'receipt_of_nobody', ...why])
    const { exitCode, stdout } = await run(['audit', 'verify'])
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^\d+ entries, unchanged, none missing\nKeep this/)])
    const [, expected = ''] = /--expect (\d+:[0-9a-f]{64})/.exec(stdout) ?? []
    expect(await run(['audit', 'verify', '--expect', expected])).toMatchObject({ exitCode: 0 })
    await run(['receipts', 'release', 'receipt_of_nobody', ...why])
    expect(await run(['audit', 'verify', '--expect', expected])).toMatchObject({ exitCode: 0 })
    const later = `${Number(expected.split(':')[0]) + 10}:${'0'.repeat(64)}`
    for (const wrong of [`${expected.split(':')[0]}:${'0'.repeat(64)}`, later]) {
      const refused = await run(['audit', 'verify', '--expect', wrong])
      expect([refused.exitCode, refused.stdout]).toEqual([
        1,
        expect.stringMatching(/^Entry \d+ does not exist with this hash$/m),
      ])
    }
    expect((await run(['audit', 'verify', '--expect', 'canary'])).exitCode).toBe(2)
  })
})
