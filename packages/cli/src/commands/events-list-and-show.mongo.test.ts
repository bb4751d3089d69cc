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

  it('says on standard error how far a search came that took too long', async () => {
    const page = { items: [], next: 'a'.repeat(24), cut: { searchedTo: '2026-11-21T08:00:05.000Z' }, notReadable: 2 }
    const fetch = async (): Promise<Response> => Response.json({ result: { data: page } })
    expect(await run(['events', 'list', '--json'], { fetch })).toEqual({
      ...{ exitCode: 0, stdout: `${JSON.stringify(page, null, 2)}\n` },
      stderr:
        '2 bodies could not be read: run oncehook doctor, which checks the encryption keys\n' +
        `The search took too long and stopped at 2026-11-21 08:00:05Z: continue with --after ${page.next}, or narrow it\n`,
    })
  })

  it('prints received text without control characters', async () => {
    const orderId = 'ord_\u001b[31mred\u202e'
    await system.events.insertOne(sampleRecord({ provider: 'odd', orderId }))
    const { stdout } = await run(['events', 'list', '--provider', 'odd'])
    expect(stdout).toContain('ord_\ufffd[31mred\ufffd')
    expect(stdout).not.toContain('\u001b')
  })

  it.each([[['--state', 'lost']], [['--limit', '101']], [['--from', '2026-13-01']]])(
    'exits with 2 for %j',
    async (options) => {
      const { exitCode, stdout, stderr } = await run(['events', 'list', ...options])
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
      expect(stderr).not.toBe('')
    },
  )
})

describe('events show', () => {
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
})
