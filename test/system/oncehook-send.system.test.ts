import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { runToEnd } from '../support/stack/service-under-test.ts'
import { startStack } from '../support/stack/stack.ts'

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const stack = resources.use(await startStack())
const folder = await mkdtemp(join(tmpdir(), 'oncehook-send-'))
resources.defer(() => rm(folder, { recursive: true }))
const tokenFile = join(folder, 'token')
const secretFile = join(folder, 'secret')
await writeFile(tokenFile, `${stack.secrets.apiToken}\n`)
await writeFile(secretFile, `${stack.secrets.stripe}\n`)

/** `oncehook send` as a process; it knows of the stack only what its options say. */
function send(...args: string[]) {
  const address = ['--url', stack.url, '--token-file', tokenFile]
  const identity = ['--provider', 'stripe', '--secret-file', secretFile]
  const settings = { ONCEHOOK_DATA: folder }
  return runToEnd({ name: 'cli', args: ['send', ...address, ...identity, ...args], settings })
}

describe('oncehook send', () => {
  it('makes an order, pays it, and says so once it was seen', async () => {
    const { code, stdout, stderr } = await send('--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({
      result: 'done',
      deliveries: [{ status: 200, body: '{"received":true}' }],
      orders: [
        { made: true, before: { status: 'pending' }, after: { status: 'paid', access: 'unlocked', version: 2 } },
      ],
    })
    expect(await stack.orders.read(report.orders[0].id)).toMatchObject({ status: 'paid' })
  })

  it('changes nothing when it sends the same event for the same order again', async () => {
    const same = ['--ensure-order', 'ord_again', '--event-id', 'evt_again', '--json']
    expect((await send(...same)).code).toBe(0)
    const paid = await stack.orders.read('ord_again')
    const { code, stdout } = await send(...same)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ result: 'done', orders: [{ made: false, changed: false }] })
    await stack.untilSettled()
    expect(await stack.orders.read('ord_again')).toEqual(paid)
    expect((await stack.receipts()).filter(({ orderId }) => orderId === 'ord_again')).toHaveLength(1)
  })

  it('fails when the delivery is refused, and the order stays as it was', async () => {
    const { code, stdout } = await send('--corrupt', 'signature', '--ensure-order', 'ord_spoiled', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ result: 'refused', deliveries: [{ status: 401 }] })
    expect(await stack.orders.read('ord_spoiled')).toMatchObject({ status: 'pending', version: 1 })
  })

  it('prints no secret', async () => {
    const runs = await Promise.all([send(), send('--corrupt', 'body'), send('--json', '--times', '3')])
    const printed = runs.map(({ stdout, stderr }) => stdout + stderr).join('')
    expect(printed).toContain('ord')
    expect(printed).not.toContain(stack.secrets.stripe)
    expect(printed).not.toContain(stack.secrets.apiToken)
  })
})
