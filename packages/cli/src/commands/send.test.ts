import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FakeBehaviour, fakeSecret, fakeToken, startFakeGateway } from '../testing/fake-gateway.ts'
import { makeDataFolder, runCommand } from '../testing/run-command.ts'

/** A gateway that runs here, as `npm start` makes one, and the command that finds it. */
async function startHere(behaviour: FakeBehaviour = {}) {
  const gateway = await startFakeGateway(behaviour)
  const { dataFolder, ...folder } = await makeDataFolder(gateway.url)
  return {
    ...gateway,
    send: async (...args: string[]) => runCommand(['send', ...args], { dataFolder }),
    sendJson: async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await runCommand(['send', '--json', ...args], { dataFolder })
      return { exitCode, stderr, document: JSON.parse(stdout) }
    },
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]()
      await gateway[Symbol.asyncDispose]()
    },
  }
}

describe('oncehook send', () => {
  it('makes an order, pays it and prints what happened', async () => {
    await using here = await startHere()
    const { exitCode, stdout, stderr } = await here.send()
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toContain(`Endpoint  ${here.url}/api/webhooks/acme (standard-webhooks)`)
    expect(stdout).toMatch(/^Delivery {2}evt_\w+: 200 \{"received":true\}$/m)
    expect(stdout).toMatch(/^Order {5}ord_1: pending -> paid, locked -> unlocked, 1 -> 2$/m)
    expect(stdout).toMatch(/Order ord_1 is paid\n$/)
  })

  it('never prints a secret or a token', async () => {
    await using here = await startHere()
    for (const args of [[], ['--json'], ['--secret', 'whsec_wrong*']]) {
      const { stdout, stderr } = await here.send(...args)
      for (const secret of [fakeSecret, fakeToken, 'wrong*']) expect(stdout + stderr).not.toContain(secret)
    }
  })

  it('changes nothing when the same line is sent again', async () => {
    await using here = await startHere()
    const line = ['--ensure-order', 'ord_demo', '--event-id', 'evt_demo']
    expect(await here.send(...line)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('ord_demo is paid') })
    const second = await here.send(...line)
    expect(second).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('ord_demo: stays paid, unlocked') })
    const [one, two] = here.deliveries
    expect(two?.body).toBe(one?.body)
    expect(here.orders.get('ord_demo')?.version).toBe(2)
  })

  it('pays an order that exists and shows a failed payment, but not one that another payment paid', async () => {
    await using here = await startHere()
    const failed = await here.send('--type', 'failed')
    expect(failed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('pending -> payment_failed') })
    const paid = await here.send('--order', 'ord_1', '--event-id', 'evt_1')
    expect(paid).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('payment_failed -> paid') })
    const { exitCode, document } = await here.sendJson('--order', 'ord_1', '--event-id', 'evt_2')
    expect(exitCode).toBe(1)
    expect(document.summary).toBe('Accepted, but order ord_1 was already paid by payment pay_1, and keeps it')
    expect(here.orders.size).toBe(1)
  })

  it('says that the given order does not exist, and delivers nothing', async () => {
    await using here = await startHere()
    const { exitCode, stderr } = await here.send('--order', 'ord_9')
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^There is no order ord_9: .*--ensure-order\n$/)
    expect(here.deliveries).toHaveLength(0)
  })

  it('succeeds for an unhandled type if the order does not change', async () => {
    await using here = await startHere()
    const { exitCode, document } = await here.sendJson('--type', 'refund.created')
    expect(exitCode).toBe(0)
    expect(document).toMatchObject({
      ...{ result: 'done', summary: 'Accepted without effect: order ord_1 did not change' },
      orders: [{ made: true, changed: false }],
    })
  })

  it.each<[FakeBehaviour, string[], string, string]>([
    [{ applies: false }, ['--timeout', '0.1'], 'failed', 'Accepted, but order ord_1 did not become paid within 0.1 s'],
    [{ answer: 404 }, [], 'refused', 'The delivery was refused with 404'],
    [{ answer: 500 }, [], 'failed', 'The delivery was answered 500: a provider would retry'],
    [{}, ['--secret-id', 'old'], 'refused', 'The delivery was refused with 401'],
  ])('of a gateway that is %j with %j, exits with 1 and says: %s', async (behaviour, options, result, summary) => {
    await using here = await startHere(behaviour)
    expect(await here.sendJson(...options)).toMatchObject({ exitCode: 1, document: { result, summary } })
  })

  it('delivers one event many times at once and sees one effect', async () => {
    await using here = await startHere()
    const { exitCode, document } = await here.sendJson('--times', '20', '--parallel', '20')
    expect(exitCode).toBe(0)
    expect(new Set(document.deliveries.map(({ eventId }: { eventId: string }) => eventId)).size).toBe(1)
    expect(document.deliveries).toHaveLength(20)
    expect(document.orders).toMatchObject([{ after: { version: 2 } }])
  })

  it('makes the given number of payments at the given rate', async () => {
    await using here = await startHere()
    const { exitCode, stdout } = await here.send('--count', '12', '--rate', '200')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('Delivery  12 times: 200 ')
    expect(stdout).toMatch(/All 12 orders are paid\n$/)
  })

  it('names the usual reason for an order that does not change: the event has another amount', async () => {
    await using here = await startHere()
    await here.send('--type', 'failed')
    const { document } = await here.sendJson('--order', 'ord_1', '--amount', '5', '--timeout', '0.1')
    expect(document.summary).toMatch(/within 0\.1 s: the event has the amount 5, the order 1999$/)
  })

  it('says in one sentence that no system runs here, or that the gateway does not answer', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['send'])
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^Oncehook is not running here: start it with `npm start`[^\n]*\n$/)
    await using folder = await makeDataFolder('http://127.0.0.1:9')
    const away = await runCommand(['send', '--json'], folder)
    expect(away).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no answer from http://127.0.0.1:9') })
    expect(JSON.parse(away.stdout)).toMatchObject({ result: 'failed' })
  })

  it('delivers to another gateway with a secret and a token from files, never with the local token', async () => {
    await using gateway = await startFakeGateway()
    await using folder = await makeDataFolder('http://127.0.0.1:9')
    const [secretFile, tokenFile] = [join(folder.dataFolder, 'secret'), join(folder.dataFolder, 'token')]
    await writeFile(secretFile, `${fakeSecret}\n`)
    await writeFile(tokenFile, `${fakeToken}\n`)
    const args = ['send', '--url', `${gateway.url}/`, '--secret-file', secretFile]
    expect(await runCommand([...args, '--token-file', tokenFile], folder)).toMatchObject({ exitCode: 0 })
    const without = await runCommand(args, folder)
    expect(without).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--token-file') })
  })

  it('signs by the settings of the provider that it delivers for, found by name or by scheme', async () => {
    await using here = await startHere()
    await here.send('--provider', 'shop')
    expect(here.deliveries[0]?.headers['x-signature']).toMatch(/^sha256=[0-9a-f]{64}$/)
    expect((await here.sendJson('--scheme', 'hmac')).document).toMatchObject({ provider: 'shop', scheme: 'hmac' })
  })

  it.each([
    [['--order', 'a', '--ensure-order', 'b'], 'cannot be used with'],
    [['--count', '2', '--event-id', 'evt_1'], '--count creates orders and events'],
    [['--count', '1000', '--times', '1000'], 'That is more than 100000 deliveries'],
    [['--amount', '1.5'], "argument '1.5' is invalid"],
    [['--rate', '0'], "argument '0' is invalid"],
    [['--url', 'ftp://example.com'], 'is invalid'],
    [['--scheme', 'none'], 'Unknown scheme none; known schemes: standard-webhooks'],
    [['--set', 'header=x'], 'The scheme standard-webhooks has no setting header; it has headerPrefix'],
    [['--event-id', 'evt.1'], 'without a dot'],
    [['--secret', 'whsec_canary'], 'Do not pass a secret as an argument: use --secret-file or --secret-env'],
    [['--secret=whsec_canary'], 'Do not pass a secret as an argument: use --secret-file or --secret-env'],
    [['--token', 'canary'], 'Do not pass a token as an argument: use --token-file or --token-env'],
    [['--secret-env', 'x', '--secret-file', 'y'], 'Give --secret-file or --secret-env, not both'],
    [['--secret-env', 'NOBODY'], 'The environment variable given by --secret-env is not set'],
    [['--secret-file', '/nowhere'], 'The file given by --secret-file cannot be read'],
  ])('exits with 2 for %j and makes no order', async (args, message) => {
    await using here = await startHere()
    const { exitCode, stdout, stderr } = await here.send(...args)
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('canary')
    expect(here.orders.size).toBe(0)
  })
})
