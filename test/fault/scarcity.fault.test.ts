import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { closingCheck } from '../support/closing-check.ts'
import { createOrders } from '../support/mixed-load.ts'
import { paymentOf, type Stack, startStack } from '../support/stack.ts'
import { gatewaySettings } from '../support/stack-settings.ts'
import { until } from '../support/until.ts'
import { WebhookSource } from '../support/webhook-source.ts'

const ORDERS = 250
const SLOW_SENDERS = 50
const BYTES_A_SECOND = 1_024

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
  socket.on('error', () => undefined)
  const closed = once(socket, 'close')
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
    const acme = stack.provider('acme')
    const orders = await createOrders(stack, ORDERS)
    await using source = new WebhookSource(acme, { perSecond: 100, parallel: 50 })
    const slow = Promise.all(Array.from({ length: SLOW_SENDERS }, () => sendSlowly(stack)))
    for (const order of orders) {
      source.add(paymentOf(order, { type: 'payment.failed', paymentId: `try_${order.id}` }))
      source.add(paymentOf(order))
    }
    const finished = source.run()
    const timed: number[] = []
    while (timed.length < 200) {
      timed.push((await acme.deliver(source.log[0]?.message ?? expect.unreachable())).ms)
      await sleep(10)
    }
    await finished
    for (const { answer, ms } of await slow) {
      expect(answer).toBe('HTTP/1.1 408')
      expect(ms).toBeGreaterThan(5_000)
      expect(ms).toBeLessThan(12_000)
    }
    expect(timed.toSorted((a, b) => a - b)[Math.floor(timed.length * 0.99)]).toBeLessThan(500)
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
    await stack.gateway.kill('SIGTERM')
    await using full = await open('/dev/full', 'w')
    const script = join(import.meta.dirname, '../../packages/gateway/src/main.ts')
    const env = { PATH: process.env.PATH, ...gatewaySettings(stack.place) }
    const gateway = spawn(process.execPath, [script], { env, stdio: ['ignore', full.fd, full.fd] })
    const ended = once(gateway, 'exit')
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 200, parallel: 20 })
    for (const order of orders) source.add(paymentOf(order))
    await source.run()
    await stack.untilSettled()
    const row = { struck: { 'a log on a full disk': Number(gateway.exitCode === null) }, volume: 500 }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
    gateway.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    await stack.gateway.restart()
  })
})
