import { execFile } from 'node:child_process'
import { open } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createOrders } from '../support/load/mixed-load.ts'
import { shareOut } from '../support/load/share-out.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { replaceService } from '../support/stack/replaced-service.ts'
import { startSecondGateway } from '../support/stack/second-gateway.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const ORDERS = 250
const SLOW_SENDERS = 50
const BYTES_A_SECOND = 1_024
const PAIRS = 200
const CLOSED_WITHIN_MS = 12_000
// How late processes may be if they share a machine with others.
const BUSY_MS = 3_000

interface SlowSender {
  readonly answer: string
  readonly ms: number
}

/** Sends a body of 100 KiB at 1 KiB a second until it is answered or cut off. */
async function sendSlowly(stack: Stack): Promise<SlowSender> {
  const begunAt = performance.now()
  const socket = connect(stack.place.gatewayPort, '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  // Data that is on its way to a closed connection causes an error.
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(
    'POST /api/webhooks/acme HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 102400\r\n\r\n',
  )
  const timer = setInterval(() => socket.write('x'.repeat(BYTES_A_SECOND / 10)), 100)
  await closed
  clearInterval(timer)
  return { answer: answer.slice(0, 12), ms: performance.now() - begunAt }
}

describe('the gateway', () => {
  it('FP-20: closes bodies that come at 1 KiB a second within 10 s; others are served meanwhile', async () => {
    await using stack = await startStack()
    // The machine affects both gateways equally, but the slow senders reach only one of them.
    await using spared = await startSecondGateway(stack)
    const gateways = [stack.provider('acme'), spared.provider]
    const orders = await createOrders(stack, ORDERS)
    await using source = new WebhookSource(shareOut(gateways), { perSecond: 100, parallel: 50 })
    const slow = Promise.all(Array.from({ length: SLOW_SENDERS }, () => sendSlowly(stack)))
    for (const order of orders) {
      source.add(paymentOf(order, { type: 'payment.failed', paymentId: `try_${order.id}` }))
      source.add(paymentOf(order))
    }
    const finished = source.run()
    const later: number[] = []
    while (later.length < PAIRS) {
      const message = source.log[0]?.message ?? expect.unreachable()
      const [beset, control] = await Promise.all(gateways.map((gateway) => gateway.deliver(message)))
      expect([beset?.status, control?.status]).toEqual([200, 200])
      later.push((beset?.ms ?? Number.NaN) - (control?.ms ?? Number.NaN))
      // The rate of the pairs.
      await sleep(10)
    }
    await finished
    const answers = await slow
    // By the gateway's clock: the senders may notice late, and lose the answer because of data that they sent since.
    const refused = stack.gateway.lines.filter(({ code }) => code === 'request_timeout')
    expect(refused).toHaveLength(SLOW_SENDERS)
    for (const { ms } of refused) {
      expect(ms).toBeGreaterThan(5_000)
      expect(ms).toBeLessThan(CLOSED_WITHIN_MS)
    }
    for (const { answer, ms } of answers) {
      expect(['HTTP/1.1 408', '']).toContain(answer)
      expect(ms).toBeLessThan(CLOSED_WITHIN_MS + BUSY_MS)
    }
    expect(answers.map(({ answer }) => answer)).toContain('HTTP/1.1 408')
    // Not the slowest of them, because a busy machine delays a process now and then.
    expect(later.toSorted((a, b) => a - b)[Math.floor(PAIRS * 0.9)]).toBeLessThan(500)
    await stack.untilSettled()
    const row = { struck: { 'a slow sender': SLOW_SENDERS }, volume: 2 * ORDERS }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })

  it('FP-28: survives running out of descriptors and serves again within 10 s', async () => {
    await using stack = await startStack()
    const orders = await createOrders(stack, 500)
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 400, parallel: 4 })
    await promisify(execFile)('prlimit', ['--pid', String(stack.gateway.pid), '--nofile=64:64'])
    const idle: Socket[] = []
    let closed = 0
    while (idle.length < 300) {
      const socket = connect(stack.place.gatewayPort, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.on('close', () => {
        closed += 1
      })
      idle.push(socket)
    }
    const strange = { type: 'invoice.created', id: 'evt_strange', paymentId: 'p', orderId: 'o' }
    const event = { ...strange, amount: 1, currency: 'EUR', occurredAt: Date.now() }
    // The gateway accepts connections until it runs out of descriptors, which it does not tell.
    await sleep(500)
    const starved = await Promise.race([stack.deliver(event), sleep(1_000).then(() => null)])
    expect(starved?.status === 200 && closed === 0, 'the descriptors were enough').toBe(false)
    for (const socket of idle) socket.destroy()
    const releasedAt = performance.now()
    await until(
      async () => (await stack.deliver(event)).status,
      (status) => status === 200,
    )
    expect(performance.now() - releasedAt).toBeLessThan(10_000)
    for (const order of orders) source.add(paymentOf(order))
    await source.run()
    await stack.untilSettled()
    await stack.events.deleteOne({ eventId: event.id })
    const row = { struck: { 'a connection beyond the descriptors': idle.length }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
  })

  it('FP-27: serves on when the disk of its log is full', async () => {
    await using stack = await startStack()
    const orders = await createOrders(stack, 500)
    await using full = await open('/dev/full', 'w')
    await using gateway = await replaceService(stack, 'gateway', { stdout: full.fd, stderr: full.fd })
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 200, parallel: 20 })
    for (const order of orders) source.add(paymentOf(order))
    await source.run()
    await stack.untilSettled()
    const row = { struck: { 'a log on a full disk': Number(gateway.child.exitCode === null) }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
    expect(await gateway.stop()).toMatchObject({ code: 0, signal: null })
  })
})
