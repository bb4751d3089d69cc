import { mkdtemp, rm } from 'node:fs/promises'
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
