import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { replaceService } from '../support/stack/replaced-service.ts'
import { choosePlace, paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { fulfilmentSettings, gatewaySettings } from '../support/stack/stack-settings.ts'

const PATIENCE = { timeout: 30_000 }
const MOST_BYTES = 16_777_216
const ORDERS = 400
const SECONDS = 12

const QUIET = { settings: { LOG_LEVEL: 'warn' } }

/** The size in bytes of a service's young generation, for all its workers together. */
async function youngBytes(port: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(/^nodejs_heap_space_size_total_bytes\{space="new"[^}]*\} (\d+)$/m.exec(metrics)?.[1])
}

/** Delivers as fast as answers come, for a while. Returns the highest value that each port showed meanwhile. */
async function mostUnderLoad(stack: Stack, ports: readonly number[]): Promise<number[]> {
  const orders = await createOrders(stack, ORDERS)
  const most = ports.map(() => 0)
  const endsAt = performance.now() + SECONDS * 1_000
  while (performance.now() < endsAt) {
    await using source = new WebhookSource(stack.provider('acme'), { perSecond: 5_000, parallel: 200 })
    for (const order of orders) {
      source.add(paymentOf(order, { type: 'payment.failed', paymentId: `try_${crypto.randomUUID()}` }))
      source.add(paymentOf(order, { type: 'invoice.created' }))
    }
    await source.run()
    for (const [index, port] of ports.entries()) most[index] = Math.max(most[index] ?? 0, await youngBytes(port))
  }
  return most
}

describe('a service that is started without flags', () => {
  it('keeps its young generation small under load, and its process id, signals and exit code', async () => {
    await using stack = await startStack()
    await using fulfilment = await replaceService(stack, 'fulfilment', QUIET)
    await using gateway = await replaceService(stack, 'gateway', QUIET)
    const most = await mostUnderLoad(stack, [gateway.port, fulfilment.port])
    for (const bytes of most) expect(bytes).toBeLessThanOrEqual(MOST_BYTES)
    for (const service of [gateway, fulfilment]) {
      expect(await service.stop()).toMatchObject({ code: 0, signal: null })
    }
  }, 120_000)

  it.each([
    ['gateway', gatewaySettings],
    ['fulfilment', fulfilmentSettings],
  ] as const)(
    'warns where its parent keeps the %s from setting the bound',
    async (name, settingsOf) => {
      await using resources = new AsyncDisposableStack()
      const env = { PATH: process.env.PATH, ...settingsOf(await choosePlace(resources)) }
      const child = fork(join(import.meta.dirname, `../../packages/${name}/src/main.ts`), { env, silent: true })
      const ended = once(child, 'exit')
      const warned: unknown[] = []
      for await (const line of createInterface({ input: child.stdout ?? expect.unreachable() })) {
        const { msg, level, nodeOptions } = JSON.parse(line)
        if (msg === 'service.heap-not-bounded') warned.push({ level, nodeOptions })
        if (msg === 'service.started') child.kill('SIGTERM')
      }
      expect(await ended).toEqual([0, null])
      expect(warned).toEqual([{ level: 'warn', nodeOptions: '--max-semi-space-size=8' }])
    },
    60_000,
  )

  it('gives the bound to its workers', async () => {
    await using stack = await startStack()
    await using gateway = await replaceService(stack, 'gateway', { settings: { ...QUIET.settings, WORKERS: '2' } })
    const children = () => readFileSync(`/proc/${gateway.child.pid}/task/${gateway.child.pid}/children`, 'utf8')
    await expect.poll(() => children().trim().split(' ').length, PATIENCE).toBe(2)
    const workers = children().trim().split(' ')
    for (const pid of workers) {
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')).toContain('--max-semi-space-size=8')
    }
  }, 120_000)
})
