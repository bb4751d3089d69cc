import { randomUUID } from 'node:crypto'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
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

describe('erase', () => {
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
