import { execFile } from 'node:child_process'
import { open } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { replaceService } from '../support/stack/replaced-service.ts'
import { paymentOf, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

describe('the gateway', () => {
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
