import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { paymentEvent, startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { Binary } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import type { CliContext } from '../../cli-context.ts'
import { makeDataFolder, runCommand } from '../../testing/run-command.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const { orders } = fulfilmentClient(system.fulfilment)
const { alice: operatorToken } = system.tokens.operators

/** Runs a command against the gateway of this test. */
function run(args: readonly string[], overrides: Partial<CliContext> = {}) {
  return runCommand([...args, '--admin-url', system.gateway.adminUrl], { operatorToken, ...overrides })
}

async function runJson(args: readonly string[]): Promise<{ exitCode: number; document: Record<string, unknown> }> {
  const { exitCode, stdout } = await run([...args, '--json'])
  return { exitCode, document: JSON.parse(stdout) as Record<string, unknown> }
}

/** Delivers a payment of the wrong amount and waits until it is dead. */
async function deadEvent(): Promise<{ id: string; eventId: string; orderId: string }> {
  const eventId = `evt_${randomUUID()}`
  const orderId = await system.order()
  await system.deliver(paymentEvent(eventId, { orderId, amount: 600 }))
  const { _id } = await system.until(eventId, ({ state }) => state === 'dead')
  return { id: String(_id), eventId, orderId }
}

async function mendOrder(id: string): Promise<void> {
  const items = [{ sku: 'book', quantity: 4, unitAmount: 150 }]
  await orders.patch.mutate({ id, patch: { items }, ifMatch: '*' })
}

async function insertDead(count: number, provider: string): Promise<void> {
  const dead = () => sampleRecord({ provider, state: 'dead', reason: 'some_reason' })
  await system.events.insertMany(Array.from({ length: count }, dead))
}

describe('events list', () => {
  it('shows events in columns, newest first, and how to see the next page', async () => {
    const first = await deadEvent()
    const second = await deadEvent()
    const { exitCode, stdout } = await run(['events', 'list', '--state', 'dead', '--limit', '1'])
    expect(exitCode).toBe(0)
    const [head, line, more] = stdout.split('\n')
    expect(head).toMatch(/^ID +RECEIVED +PROVIDER +EVENT +TYPE +ORDER +STATE +REASON +STARTS +DELIVERIES$/)
    expect(line?.split(/ {2,}/)).toEqual([
      ...[second.id, expect.stringMatching(/^20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ$/), 'acme', second.eventId],
      ...['payment.succeeded', second.orderId, 'dead', 'amount_mismatch', '1', '1'],
    ])
    expect(more).toBe(`More: repeat with --after ${second.id}`)
    const next = await run(['events', 'list', '--state', 'dead', '--limit', '1', '--after', second.id])
    expect(next.stdout).toContain(first.id)
  })

  it.each<[options: string[], expected: string[]]>([
    [['--event-id', 'evt_wanted'], ['evt_wanted']],
    [['--provider', 'wanted'], ['evt_wanted']],
    [['--type', 'wanted.type'], ['evt_wanted']],
    [['--failed-with', 'wanted_reason'], ['evt_wanted']],
    [['--order', 'ord_wanted'], ['evt_wanted']],
    [['--payment', 'pay_wanted'], ['evt_wanted']],
    [['--about', 'evt_wanted'], ['evt_wanted']],
    [['--about', 'ord_wanted'], ['evt_wanted']],
    [['--about', 'pay_wanted'], ['evt_wanted']],
    [['--text', 'wanted in the body', '--provider', 'wanted'], ['evt_wanted']],
    [['--text', 'Wanted in the body', '--provider', 'wanted'], []],
    [['--duplicates', 'changed', '--provider', 'wanted'], ['evt_wanted']],
    [['--duplicates', 'repeated', '--provider', 'wanted'], ['evt_wanted']],
    [['--from', '3d', '--to', '1d', '--provider', 'wanted'], ['evt_wanted']],
    [['--from', '2h', '--to', '2000-01-01'], []],
  ])('finds by %j', async (options, expected) => {
    await system.events.deleteMany({ eventId: 'evt_wanted' })
    const receivedAt = new Date(Date.now() - 2 * 86_400_000)
    const wanted = { eventId: 'evt_wanted', provider: 'wanted', type: 'wanted.type', orderId: 'ord_wanted' }
    const raw = new Binary(Buffer.from('{"note":"wanted in the body"}'))
    const received = { objectId: 'pay_wanted', deliveries: 3, mismatches: 1, raw }
    await system.events.insertOne(
      sampleRecord({ ...wanted, ...received, receivedAt, state: 'dead', reason: 'wanted_reason' }),
    )
    const { document } = await runJson(['events', 'list', ...options])
    const { items } = document as { items: { eventId: string }[] }
    expect(items.map(({ eventId }) => eventId)).toEqual(expected)
  })

  it.each([[[]], [['--json']]])(
    'says on standard error how far a search came that took too long (%j)',
    async (more) => {
      const page = { items: [], next: 'a'.repeat(24), cut: { searchedTo: '2026-11-21T08:00:05.000Z' }, notReadable: 2 }
      const answer = async (): Promise<Response> => Response.json({ result: { data: page } })
      const { exitCode, stdout, stderr } = await run(['events', 'list', ...more], { fetch: answer })
      expect(exitCode).toBe(0)
      expect(stdout).toBe(more.length === 0 ? 'No events\n' : `${JSON.stringify(page, null, 2)}\n`)
      expect(stderr).toBe(
        '2 bodies could not be read: run oncehook doctor, which checks the encryption keys\n' +
          `The search took too long and stopped at 2026-11-21 08:00:05Z: continue with --after ${page.next}, or narrow it\n`,
      )
    },
  )

  it('says if there are no events', async () => {
    expect(await run(['events', 'list', '--order', 'ord_of_nobody'])).toMatchObject({
      exitCode: 0,
      stdout: 'No events\n',
    })
  })

  it('prints received text without control characters', async () => {
    const orderId = 'ord_\u001b[31mred\u202e'
    await system.events.insertOne(sampleRecord({ provider: 'odd', orderId }))
    const { stdout } = await run(['events', 'list', '--provider', 'odd'])
    expect(stdout).toContain('ord_\ufffd[31mred\ufffd')
    expect(stdout).not.toContain('\u001b')
  })

  it.each([
    [['--state', 'lost']],
    [['--duplicates', 'none']],
    [['--limit', '101']],
    [['--from', 'yesterday']],
    [['--from', '2026-13-01']],
    [['x']],
  ])('exits with 2 for %j', async (options) => {
    const { exitCode, stdout, stderr } = await run(['events', 'list', ...options])
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).not.toBe('')
  })
})

describe('events show', () => {
  it('shows everything about an event except its body, its signature and any secret', async () => {
    const { id, eventId, orderId } = await deadEvent()
    // Operators see an event as a majority holds it, a moment after its last change.
    const isDead = { timeout: 10_000 }
    await expect.poll(async () => (await run(['events', 'show', id])).stdout, isDead).toContain('State         dead')
    const { exitCode, stdout } = await run(['events', 'show', id, '--verify'])
    expect(exitCode).toBe(0)
    expect(stdout).toContain(`Event         ${eventId} of acme\n`)
    expect(stdout).toContain(`Order         ${orderId}\n`)
    expect(stdout).toContain('State         dead: amount_mismatch\n')
    expect(stdout).toContain('Signed with   the secret newer\n')
    expect(stdout).toContain('Verified now  authentic, signed with the secret newer\n')
    expect(stdout).toContain('Headers       content-type: application/json')
    expect(stdout).not.toContain('stripe-signature')
    expect(stdout).toMatch(/^AT +DURATION +OUTCOME +CODE +MESSAGE$/m)
    expect(stdout).toMatch(/dead +amount_mismatch +The amount of the event is not the amount due$/m)
    const { headers, raw } = await system.operator().events.get.query({ id, body: true })
    const signature = /v1=(\w+)/.exec(headers['stripe-signature'] ?? '')?.[1] ?? ''
    const { document } = await runJson(['events', 'show', id])
    expect(document).toMatchObject({
      eventId,
      headers: { 'content-type': 'application/json' },
      bytes: Buffer.from(raw ?? '', 'base64').length,
    })
    expect(document).not.toHaveProperty('raw')
    for (const told of [stdout, JSON.stringify(document)]) {
      expect(told).not.toContain(signature)
      expect(told).not.toContain('"amount":600')
      expect(told).not.toContain(raw ?? 'no body')
    }
  })

  it('prints the body, and nothing else, on request', async () => {
    const { id } = await deadEvent()
    const body = Buffer.from([0x7b, 0xff, 0x00, 0x1b, 0x7d, 0x0a])
    const { _id, eventId } = (await system.events.find().sort({ _id: -1 }).limit(1).next())!
    expect(String(_id)).toBe(id)
    await system.events.updateOne({ eventId }, { $set: { raw: new Binary(body) } })
    const { stdout } = await run(['events', 'show', id, '--raw'])
    expect(Buffer.from(stdout, 'latin1').equals(body)).toBe(true)
    const shown = await run(['events', 'show', id, '--raw'], { writesToTerminal: true })
    expect(shown.stdout).toBe('{\ufffd\ufffd\ufffd}\n\n')
    expect((await runJson(['events', 'show', id, '--raw'])).document.raw).toBe(body.toString('base64'))
  })

  it('shows no card number on a terminal, and the exact bytes to a file or a pipe', async () => {
    const { id, eventId } = await deadEvent()
    const body = '{"card":"4111 1111 1111 1111"}'
    await system.events.updateOne({ eventId }, { $set: { raw: new Binary(Buffer.from(body)) } })
    const raw = ['events', 'show', id, '--raw']
    expect((await run(raw, { writesToTerminal: true })).stdout).toBe('{"card":"**** **** **** 1111"}\n')
    expect((await run(raw)).stdout).toBe(body)
  })

  it('exits with 1 when the stored bytes are not authentic', async () => {
    const { id, eventId } = await deadEvent()
    await system.events.updateOne({ eventId }, { $set: { raw: new Binary(Buffer.from('{}')) } })
    const { exitCode, stdout } = await run(['events', 'show', id, '--verify'])
    expect(exitCode).toBe(1)
    expect(stdout).toContain('Verified now  not authentic: signature_mismatch\n')
  })

  it.each([['0'.repeat(24)], ['evt_nothing']])('exits with 1 for %s, which is no event', async (id) => {
    expect(await run(['events', 'show', id])).toMatchObject({
      ...{ exitCode: 1, stdout: '', stderr: 'No event has this id (not_found)\n' },
    })
  })

  it.each([65, 10_000, 100_000])('says of an id of %i characters that it is too long', async (length) => {
    const { exitCode, stdout, stderr } = await run(['events', 'show', 'x'.repeat(length)])
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/64 characters \([a-z_]+\)\n$/)
    expect(stderr.length).toBeLessThan(200)
  })
})

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

  it('replays only dead events by default', async () => {
    const provider = 'mixed'
    await insertDead(3, provider)
    await system.events.insertMany([
      sampleRecord({ provider }),
      sampleRecord({ provider, state: 'unhandled', reason: 'type_unhandled' }),
    ])
    const dryRun = async (...options: string[]) => {
      const { document } = await runJson(['events', 'replay', '--provider', provider, '--dry-run', ...options])
      return document.matched
    }
    expect(await dryRun()).toBe(3)
    expect(await dryRun('--state', 'unhandled')).toBe(1)
    expect(await dryRun('--state', 'done', '--include-done')).toBe(1)
    expect(await dryRun('--include-done')).toBe(5)
    const { stdout } = await run(['events', 'replay', '--provider', provider, '--dry-run'])
    expect(stdout).toBe('3 events would be replayed; nothing was changed\n')
    expect(await system.events.countDocuments({ provider, state: 'dead' })).toBe(3)
  })

  it('keeps to the rate, and shows a bar on a terminal', async () => {
    const provider = 'barred'
    await insertDead(6, provider)
    const shown: string[] = []
    const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 120, rows: 40 })
    terminal.on('data', (chunk: Buffer) => shown.push(chunk.toString()))
    const begun = performance.now()
    const args = ['events', 'replay', '--provider', provider, '--rate', '3', ...why]
    expect(await run(args, { terminal })).toMatchObject({ exitCode: 0 })
    expect(performance.now() - begun).toBeGreaterThan(1_000)
    expect(shown.join('')).toContain('6 of 6 settled, 0 dead again')
  })

  it('does not wait with --no-wait, and shows its progress later', async () => {
    const provider = 'unwatched'
    await insertDead(2, provider)
    const { document } = await runJson(['events', 'replay', '--provider', provider, '--no-wait', ...why])
    const replayId = String(document.replayId)
    expect(document).toEqual({ replayId: expect.stringMatching(/^[0-9a-f]{24}$/), matched: 2 })
    const shown = async () => (await runJson(['replays', 'show', replayId])).document
    await expect.poll(shown).toMatchObject({ state: 'finished', done: 2 })
    const { stdout } = await run(['replays', 'show', replayId])
    expect(stdout).toMatch(/^State {5}finished\nStarted {3}.+Z by alice: the cause is fixed\nEnded {5}.+Z\n/)
    expect(stdout).toContain('Events    2 matched, 2 made due again: 2 settled, 0 dead again\n')
    const [head, ...lines] = (await run(['replays', 'list'])).stdout.split('\n')
    expect(head).toMatch(/^REPLAY +STARTED +BY +STATE +MATCHED +DUE AGAIN +SETTLED +DEAD AGAIN +REASON$/)
    const line = lines.find((one) => one.startsWith(replayId))
    expect(line?.split(/ {2,}/).slice(2)).toEqual(['alice', 'finished', '2', '2', '2', '0', 'the cause is fixed'])
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

  it('is cancelled by Ctrl-C if that was requested', async () => {
    const provider = 'interrupted'
    await insertDead(200, provider)
    const args = ['events', 'replay', '--provider', provider, '--rate', '1', '--cancel-on-interrupt', ...why]
    const { exitCode, stdout } = await run(args, interrupting(provider))
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/^Cancelled after [1-9]\d? of 200: /m)
    expect(await system.events.countDocuments({ provider, state: 'dead' })).toBeGreaterThan(100)
  })

  it('is cancelled by its id', async () => {
    const provider = 'stopped'
    await insertDead(20, provider)
    const args = ['events', 'replay', '--provider', provider, '--rate', '1', '--no-wait', ...why]
    const { document } = await runJson(args)
    const { exitCode, stdout } = await run(['replays', 'cancel', String(document.replayId)])
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^State {5}cancelled\n/)
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

  it('exits with 1 when the gateway refuses, and changes nothing', async () => {
    const { id, eventId } = await deadEvent()
    const before = await system.record(eventId)
    const { exitCode, stderr } = await run(['events', 'replay', id, '0'.repeat(24), ...why])
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: 'Unknown event id (not_found)\n',
    })
    expect(await system.record(eventId)).toEqual(before)
  })
})

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

describe('events close and events release', () => {
  it('closes a failed event with a reason, which `events show` prints', async () => {
    const { id } = await deadEvent()
    const closed = await run(['events', 'close', id, '--reason', 'refunded by hand'])
    expect(closed).toMatchObject({ exitCode: 0, stdout: 'Closed: no redelivery revives the event\n' })
    const { stdout } = await run(['events', 'show', id])
    expect(stdout).toMatch(/^State +closed: amount_mismatch$/m)
    expect(stdout).toMatch(/^Closed +20\d\d-.+ by alice: refunded by hand$/m)
    const again = await run(['events', 'close', id, '--reason', 'refunded by hand'])
    expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('(event_not_dead)') })
    expect(await run(['events', 'close', id, '--reason', 'no'])).toMatchObject({ exitCode: 2 })
  })

  it('releases an event that a process holds', async () => {
    const leaseUntil = new Date(Date.now() + 50_000)
    const held = sampleRecord({ state: 'processing', leaseOwner: 'stuck', leaseUntil })
    await system.events.insertOne(held)
    const { exitCode, document } = await runJson(['events', 'release', String(held._id), '--reason', 'it hangs'])
    expect({ exitCode, document }).toEqual({ exitCode: 0, document: { id: String(held._id), state: 'pending' } })
    await system.until(held.eventId, ({ state }) => state === 'unhandled')
  })
})

describe('events test', () => {
  it('sends a test event, which `events show` marks and `events list --test` finds', async () => {
    const args = ['events', 'test', 'acme', '--type', 'payment.failed', '--order', 'ord_9']
    const sent = await run([...args, '--reason', 'a test'])
    expect(sent).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^Stored: test_\w+ is unhandled \(test\)\./),
    })
    const [, id = ''] = /events show (\w+)/.exec(sent.stdout) ?? []
    const { stdout } = await run(['events', 'show', id])
    expect(stdout).toMatch(/^Type +payment\.failed$/m)
    expect(stdout).toMatch(/^Test +yes: an operator sent it$/m)
    expect((await runJson(['events', 'list', '--test'])).document.items).toMatchObject([{ id, orderId: 'ord_9' }])
    expect((await runJson(['events', 'list', '--no-test', '--order', 'ord_9'])).document.items).toEqual([])
    expect(await run(args)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--reason') })
  })
})
