import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { Binary } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { operateEvents } from '../testing/operated-events.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const { deadEvent, run, runJson } = operateEvents(system)

describe('events list', () => {
  it('shows events in columns, newest first, and how to see the next page', async () => {
    const first = await deadEvent()
    const second = await deadEvent()
    const { exitCode, stdout } = await run(['events', 'list', '--state', 'dead', '--limit', '1'])
    expect(exitCode).toBe(0)
    const [head, line, more] = stdout.split('\n')
    expect(head).toMatch(/^ID +RECEIVED +PROVIDER +EVENT +TYPE +ORDER +STATE +REASON +ATTEMPTS +DELIVERIES$/)
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
    await expect.poll(async () => (await run(['events', 'show', id])).stdout).toContain('State         dead')
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
