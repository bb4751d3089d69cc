import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import type { CliContext } from '../command.ts'
import { operateEvents } from '../testing/operated-events.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const { deadEvent, run, runJson } = operateEvents(system)
const { orders } = fulfilmentClient(system.fulfilment)

async function mendOrder(id: string): Promise<void> {
  const items = [{ sku: 'book', quantity: 4, unitAmount: 150 }]
  await orders.patch.mutate({ id, patch: { items }, ifMatch: '*' })
}

async function insertDead(count: number, provider: string): Promise<void> {
  const dead = () => sampleRecord({ provider, state: 'dead', reason: 'some_reason' })
  await system.events.insertMany(Array.from({ length: count }, dead))
}

describe('events replay', () => {
  const why = ['--reason', 'the cause is fixed']

  it('replays one event and waits until it is settled', async () => {
    const { id, eventId, orderId } = await deadEvent()
    await mendOrder(orderId)
    const { exitCode, stdout } = await run(['events', 'replay', id, ...why])
    expect(stdout).toMatch(/^Replay [0-9a-f]{24}: 1 event\n1 settled, 0 dead again\n$/)
    expect(exitCode).toBe(0)
    expect(await system.record(eventId)).toMatchObject({ state: 'done' })
    const shown = await run(['events', 'show', id])
    expect(shown.stdout).toMatch(/^REPLAYED +BY +REASON +MAPPING$/m)
    expect(shown.stdout).toMatch(/Z +alice +the cause is fixed +remapped$/m)
  })

  it('exits with 1 when an event is dead again', async () => {
    const { id } = await deadEvent()
    const { exitCode, document } = await runJson(['events', 'replay', id, ...why])
    expect(exitCode).toBe(1)
    expect(document).toMatchObject({ ended: 'settled', state: 'finished', matched: 1, done: 0, failed: 1 })
  })

  it('keeps to the rate, and shows its progress on a terminal', async () => {
    const provider = 'barred'
    await insertDead(6, provider)
    const begun = performance.now()
    const args = ['events', 'replay', '--provider', provider, '--rate', '3', ...why]
    const { exitCode, stderr } = await run(args, { hasTerminal: true })
    expect(performance.now() - begun).toBeGreaterThan(1_000)
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: expect.stringMatching(/\r6 of 6 settled, 0 dead again\n$/),
    })
  })

  /** Presses Ctrl-C as soon as somebody listens and one of the events has been made due. */
  function interrupting(provider: string): Partial<CliContext> {
    return {
      onInterrupt(listener) {
        const isMadeDue = () => system.events.countDocuments({ provider, state: { $ne: 'dead' } })
        void expect.poll(isMadeDue).toBeGreaterThan(0).then(listener)
        return () => undefined
      },
    }
  }

  it('continues in the gateway after Ctrl-C', async () => {
    const provider = 'left'
    await insertDead(6, provider)
    const args = ['events', 'replay', '--provider', provider, '--rate', '2', ...why]
    const { exitCode, stdout } = await run(args, interrupting(provider))
    expect(exitCode).toBe(1)
    expect(stdout).toContain('the replay continues in the gateway\n')
    await expect.poll(() => system.events.countDocuments({ provider, state: 'unhandled' })).toBe(6)
  })

  it('stops waiting after the given time', async () => {
    // A pending event could be in progress at the moment of the replay.
    const settled = { state: 'dead', reason: 'some_reason' } as const
    const record = sampleRecord({ type: 'payment.succeeded', orderId: 'ord_nobody_makes', ...settled })
    const { _id, eventId } = record
    await system.events.insertOne(record)
    const { exitCode, stdout } = await run(['events', 'replay', String(_id), '--timeout', '0.5', ...why])
    expect({ exitCode, stdout }).toEqual({
      exitCode: 1,
      stdout: expect.stringContaining('0 settled, 0 dead again, 1 not settled yet: look again with'),
    })
    await system.events.deleteOne({ eventId })
  })

  it('asks for the reason on a terminal', async () => {
    const { id } = await deadEvent()
    const ask = async (question: string): Promise<string> => {
      expect(question).toContain('Reason')
      return ' because I say so '
    }
    await run(['events', 'replay', id], { ask })
    expect((await system.operator().audit.list.query()).items[0]).toMatchObject({ reason: 'because I say so' })
  })

  it.each([
    [['0'.repeat(24)], 'Give a reason with --reason'],
    [['0'.repeat(24), '--reason', 'x'], '3 to 200 characters'],
    [why, 'Give ids, a filter'],
    [['0'.repeat(24), '--provider', 'acme', ...why], 'ids or a filter, not both'],
    [['--state', 'processing', ...why], 'cannot be replayed'],
    [['--state', 'done', ...why], '--include-done'],
    [[...Array(1_001).fill('0'.repeat(24)), ...why], 'at most 1000 ids'],
    [['--all', '--rate', '0', ...why], 'an integer from 1'],
  ])('exits with 2 for %.60j', async (args, message) => {
    const { exitCode, stdout, stderr } = await run(['events', 'replay', ...args])
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})
