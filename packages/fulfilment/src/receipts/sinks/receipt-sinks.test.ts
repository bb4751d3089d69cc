import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger } from '@oncehook/kernel/log/logger'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { systemClock } from '@oncehook/kernel/time/clock'
import { afterAll, describe, expect, it } from 'vitest'
import type { Receipt } from '../receipt-sink.ts'
import { createLogSink, createReceiptSink, demandsTls, sinkProblem } from './receipt-sinks.ts'

const folder = await mkdtemp(join(tmpdir(), 'receipts-'))
afterAll(() => rm(folder, { recursive: true }))

function receipt(key: string): Receipt {
  const order = { orderId: 'o1', paymentId: 'p1', customerId: 'c1', email: 'a@example.com' }
  return { key, ...order, amount: 300, currency: 'EUR', paidAt: '2026-11-21T10:00:00.000Z' }
}

const { signal } = new AbortController()

function parts() {
  return { logger: memoryLogger().logger, fetch: globalThis.fetch, clock: systemClock, from: undefined, keys: [] }
}

/** Each kind of sink, with a way to read the receipts it accepted. */
const KINDS = [
  {
    kind: 'log:',
    open() {
      const { logger, lines } = memoryLogger()
      const read = async () => lines.map(({ receipt: sent }) => sent as Receipt)
      return { sink: createReceiptSink('log:', { ...parts(), logger }), read }
    },
  },
  {
    kind: 'file:',
    open() {
      const path = join(folder, crypto.randomUUID(), 'receipts.jsonl')
      const sink = createReceiptSink(`file:${path}`, parts())
      return { sink, read: async () => (await linesOf(path)).map((line) => JSON.parse(line) as Receipt) }
    },
  },
]

async function linesOf(path: string): Promise<string[]> {
  return (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '')
}

describe('a sink of kind log:', () => {
  it('does not count a receipt as sent if its log line was lost', async () => {
    const output = { dropped: 0 }
    const full = {
      write() {
        output.dropped += 1
      },
    }
    const sink = createLogSink(createLogger({ service: 'x', level: 'info', destination: full }), output)
    await expect(sink.send(receipt('rcpt_1'), signal)).rejects.toThrow('The log output dropped the line')
  })

  it('names no customer: logs go to more people than receipts do', async () => {
    const { logger, lines } = memoryLogger()
    await createReceiptSink('log:', { ...parts(), logger }).send(receipt('rcpt_1'), signal)
    expect(lines).toHaveLength(1)
    expect(Object.keys(Object(lines[0]?.receipt))).toEqual([
      'key',
      'orderId',
      'paymentId',
      'amount',
      'currency',
      'paidAt',
    ])
  })
})

describe.each(KINDS)('a sink of kind $kind', ({ open }) => {
  it('accepts each receipt once, complete except for hidden data', async () => {
    const { sink, read } = open()
    await sink.send(receipt('rcpt_1'), signal)
    await sink.send(receipt('rcpt_2'), signal)
    await sink.close()
    const taken = await read()
    expect(taken.map(({ key }) => key)).toEqual(['rcpt_1', 'rcpt_2'])
    expect(taken[0]).toMatchObject({ orderId: 'o1', paymentId: 'p1', amount: 300, currency: 'EUR' })
  })

  it('accepts many at once, each in one piece', async () => {
    const { sink, read } = open()
    const keys = Array.from({ length: 200 }, (_, index) => `rcpt_${index}`)
    await Promise.all(keys.map((key) => sink.send(receipt(key), signal)))
    await sink.close()
    expect((await read()).map(({ key }) => key).toSorted()).toEqual(keys.toSorted())
  })

  it('honours the key', () => {
    expect(open().sink.keyed).toBe(true)
  })
})

describe('a file: sink', () => {
  it('is shared by several writers', async () => {
    const path = join(folder, 'shared.jsonl')
    const sinks = Array.from({ length: 3 }, () => createReceiptSink(`file:${path}`, parts()))
    const keys = Array.from({ length: 90 }, (_, index) => `rcpt_${index}`)
    await Promise.all(keys.map((key, index) => sinks[index % 3]?.send(receipt(key), signal)))
    expect((await linesOf(path)).map((line) => JSON.parse(line).key).toSorted()).toEqual(keys.toSorted())
  })

  it('fails each receipt that it cannot write, and continues when it can', async () => {
    const path = join(folder, 'blocked')
    await appendFile(path, 'a file where a folder is needed')
    const sink = createReceiptSink(`file:${path}/receipts.jsonl`, parts())
    await expect(sink.send(receipt('rcpt_1'), signal)).rejects.toThrow(/EEXIST|ENOTDIR/)
    await rm(path)
    await sink.send(receipt('rcpt_1'), signal)
    expect(await linesOf(`${path}/receipts.jsonl`)).toHaveLength(1)
  })
})

describe('sinkProblem', () => {
  it.each(['log:', 'file:receipts.jsonl', 'file:/var/receipts.jsonl', 'file:///var/receipts.jsonl'])(
    'takes %s',
    (address) => {
      expect(sinkProblem(address, {})).toBeNull()
    },
  )

  it.each(['', 'log', 'log:x', 'file:', 'file:///var/', 'file://host/x', 'ftp://host', 'receipts.jsonl'])(
    'refuses "%s"',
    (address) => {
      expect(sinkProblem(address, {})).toEqual(expect.any(String))
    },
  )

  const secret = 'whsec_x'
  const from = 'shop@example.com'
  it.each([
    ['https://shop.example/receipts', { secret }, null],
    ['https://shop.example/receipts', {}, /RECEIPT_SECRET=whsec_/],
    ['https://127.0.0.1.example/receipts', {}, /RECEIPT_SECRET=whsec_/],
    ['http://127.0.0.1:1/receipts', {}, null],
    ['http://shop.example/receipts', { secret }, /must use https/],
    ['smtp://mail.example', {}, /RECEIPT_FROM/],
    ['smtp://mail.example', { from }, null],
    ['smtp://mail.example?requireTLS=false', { from }, null],
    ['smtp://mail.example?requireTLS=no', { from }, /invalid requireTLS/],
    ['smtp://mail.example?requireTLS=', { from }, /invalid requireTLS/],
    ['smtp://mail.example?ignoreTLS=true', { from }, /disables it with ignoreTLS.*\?requireTLS=false/],
    ['smtp://mail.example?requireTLS=true&opportunisticTLS=1', { from }, /with opportunisticTLS/],
    ['smtp://mail.example?secured=true', { from }, /with secured/],
    ['smtps://mail.example?tls.rejectUnauthorized=false', { from }, /with tls\.rejectUnauthorized/],
    [
      'smtps://mail.example?tls.rejectUnauthorized=true&tls.rejectUnauthorized=0',
      { from },
      /with tls\.rejectUnauthorized/,
    ],
    ['smtp://mail.example?ignoreTLS=false&tls.rejectUnauthorized=true', { from }, null],
    ['smtp://mail.example?requireTLS=false&ignoreTLS=true', { from }, null],
    ['smtp://127.0.0.1:25?ignoreTLS=true', { from }, null],
    ['smtp://127.0.0.1:25?requireTLS=true&tls.rejectUnauthorized=false', { from }, /with tls\.rejectUnauthorized/],
  ])('says of %s with %j what is missing', (address, texts, problem) => {
    const found = sinkProblem(address, texts)
    if (problem === null) expect(found).toBeNull()
    else expect(found).toMatch(problem)
  })
})

describe('demandsTls', () => {
  it.each([
    ['smtp://127.0.0.1:25', false],
    ['smtp://localhost', false],
    ['smtp://[::1]:25', false],
    ['smtp://127.0.0.1?requireTLS=true', true],
    ['smtp://mail.example', true],
    ['smtp://10.0.0.5:587', true],
    ['smtp://localhost.example', true],
    ['smtp://user:password@mail.example:587/?requireTLS=false', false],
    ['smtp://mail.example?requireTLS=perhaps', null],
  ])('%s: %s', (address, demanded) => {
    expect(demandsTls(new URL(address))).toBe(demanded)
  })
})
