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
    dataFolder,
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
    expect(exitCode).toBe(0)
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^Order {5}ord_1, 19\.99 EUR, created$/m)
    expect(stdout).toContain(`Endpoint  ${here.url}/api/webhooks/acme (standard-webhooks)`)
    expect(stdout).toMatch(/^Delivery {2}evt_\w+ payment\.succeeded: 200 \{"received":true\} in \S+ ms$/m)
    expect(stdout).toMatch(/^Order {5}ord_1: pending -> paid, locked -> unlocked, version 1 -> 2 \(after \S+ ms\)$/m)
    expect(stdout).toMatch(/Order ord_1 is paid\n$/)
  })

  it('prints the same as one JSON document', async () => {
    await using here = await startHere()
    const { exitCode, document } = await here.sendJson()
    expect(exitCode).toBe(0)
    expect(document).toMatchObject({
      result: 'done',
      provider: 'acme',
      scheme: 'standard-webhooks',
      deliveries: [
        { type: 'payment.succeeded', orderId: 'ord_1', status: 200, body: '{"received":true}', failure: null },
      ],
      orders: [
        {
          id: 'ord_1',
          made: true,
          before: { status: 'pending', access: 'locked', version: 1 },
          after: { status: 'paid', access: 'unlocked', version: 2 },
          changed: true,
          seen: true,
        },
      ],
    })
  })

  it('never prints a secret or a token', async () => {
    await using here = await startHere()
    for (const args of [[], ['--json'], ['--tamper', 'body'], ['--secret', 'whsec_wrong*']]) {
      const { stdout, stderr } = await here.send(...args)
      for (const secret of [fakeSecret, fakeToken, 'wrong*']) expect(stdout + stderr).not.toContain(secret)
    }
  })

  it('changes nothing when the same line is sent again', async () => {
    await using here = await startHere()
    const line = ['--ensure-order', 'ord_demo', '--event-id', 'evt_demo']
    const first = await here.send(...line)
    expect(first).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Order ord_demo is paid') })
    const second = await here.send(...line)
    expect(second.exitCode).toBe(0)
    expect(second.stdout).toContain('ord_demo, 19.99 EUR, exists: paid, unlocked, version 2')
    expect(second.stdout).toContain('ord_demo: stays paid, unlocked, version 2')
    expect(second.stdout).toContain('nothing changed: order ord_demo was already paid by payment pay_demo')
    const [one, two] = here.deliveries
    expect(two?.body).toBe(one?.body)
    expect(here.orders.get('ord_demo')?.version).toBe(2)
  })

  it('pays an order that exists', async () => {
    await using here = await startHere()
    await here.send('--type', 'failed')
    expect(await here.send('--order', 'ord_1')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('payment_failed -> paid'),
    })
    expect(here.orders.size).toBe(1)
  })

  it('says that the given order does not exist, and delivers nothing', async () => {
    await using here = await startHere()
    const { exitCode, stderr } = await here.send('--order', 'ord_9')
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^There is no order ord_9: .*--ensure-order\n$/)
    expect(here.deliveries).toHaveLength(0)
  })

  it('says that an order keeps the payment that paid it first', async () => {
    await using here = await startHere()
    await here.send('--event-id', 'evt_1')
    const { exitCode, document } = await here.sendJson('--order', 'ord_1', '--event-id', 'evt_2')
    expect(exitCode).toBe(1)
    expect(document.summary).toBe('Accepted, but order ord_1 was already paid by payment pay_1, and keeps it')
  })

  it('shows a payment that failed', async () => {
    await using here = await startHere()
    const { exitCode, stdout } = await here.send('--type', 'failed')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('pending -> payment_failed')
  })

  it('succeeds for an unhandled type if the order does not change', async () => {
    await using here = await startHere()
    const { exitCode, document } = await here.sendJson('--type', 'refund.created')
    expect(exitCode).toBe(0)
    expect(document).toMatchObject({
      deliveries: [{ type: 'refund.created', status: 200 }],
      orders: [{ changed: false }],
    })
    expect(document.summary).toBe('Accepted without effect: order ord_1 did not change')
  })

  it.each([['body'], ['signature'], ['timestamp']])(
    'exits with 1 when a tampered %s is refused as expected',
    async (what) => {
      await using here = await startHere()
      const { exitCode, document } = await here.sendJson('--tamper', what)
      expect(exitCode).toBe(1)
      expect(document).toMatchObject({
        result: 'refused',
        summary: `Refused as expected: 401 for a tampered ${what}, and order ord_1 did not change`,
        deliveries: [{ status: 401 }],
        orders: [{ changed: false }],
      })
    },
  )

  it.each([
    {
      what: 'a tampered delivery that was accepted',
      ...{ system: { trustsAll: true }, options: ['--tamper', 'signature'] },
      document: { result: 'failed', summary: 'A delivery was accepted although its signature was tampered with' },
    },
    {
      what: 'a delivery refused because its clock is wrong',
      ...{ system: {}, options: ['--skew', '-400'] },
      document: { result: 'refused', summary: 'The delivery was refused with 401' },
    },
    {
      what: 'an order that does not change in time',
      ...{ system: { applies: false }, options: ['--timeout', '0.1'] },
      document: { result: 'failed', summary: 'Accepted, but order ord_1 did not become paid within 0.1 s' },
    },
  ])('exits with 1 and reports $what', async ({ system, options, document }) => {
    await using here = await startHere(system)
    expect(await here.sendJson(...options)).toMatchObject({ exitCode: 1, document })
  })

  it('delivers one event many times at once and sees one effect', async () => {
    await using here = await startHere()
    const { exitCode, document } = await here.sendJson('--times', '20', '--parallel')
    expect(exitCode).toBe(0)
    expect(new Set(document.deliveries.map(({ eventId }: { eventId: string }) => eventId)).size).toBe(1)
    expect(document.deliveries).toHaveLength(20)
    expect(document.orders).toMatchObject([{ after: { version: 2 } }])
  })

  it.each([
    ['given', ['payment.failed', 'payment.succeeded']],
    ['reversed', ['payment.succeeded', 'payment.failed']],
  ])('delivers a sequence as %s and reports its effect', async (arrival, types) => {
    await using here = await startHere()
    const { exitCode, document } = await here.sendJson('--sequence', 'failed,succeeded', '--order-of-arrival', arrival)
    expect(exitCode).toBe(0)
    expect(document.deliveries.map(({ type }: { type: string }) => type)).toEqual(types)
    expect(document.orders).toMatchObject([{ after: { status: 'paid' } }])
  })

  it('makes the given number of payments at the given rate', async () => {
    await using here = await startHere()
    const { exitCode, stdout } = await here.send('--count', '12', '--rate', '200')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('Orders    12 created')
    expect(stdout).toContain('Delivery  12 answered 200')
    expect(stdout).toMatch(/Latency {3}p50 \S+ ms, p99 \S+ ms, max \S+ ms/)
    expect(stdout).toContain('Orders    12 paid')
    expect(stdout).toMatch(/All 12 orders are paid\n$/)
    expect([...here.orders.values()].every(({ status }) => status === 'paid')).toBe(true)
  })

  it('names the usual reason for an order that does not change: the event has another amount', async () => {
    await using here = await startHere()
    await here.send('--type', 'failed')
    const { document } = await here.sendJson('--order', 'ord_1', '--amount', '5', '--timeout', '0.1')
    expect(document.summary).toMatch(/within 0\.1 s: the event has 5 EUR, the order 1999 EUR$/)
  })

  it('waits through a moment in which orders cannot be read', async () => {
    await using here = await startHere({ readsAway: 2 })
    expect(await here.send()).toMatchObject({ exitCode: 0 })
  })

  it.each([
    [404, 'refused', 'The delivery was refused with 404'],
    [500, 'failed', 'The delivery was answered 500: a provider would retry'],
  ])('explains an answer of %i', async (answer, result, summary) => {
    await using here = await startHere({ answer })
    expect(await here.sendJson()).toMatchObject({ exitCode: 1, document: { result, summary } })
  })

  it('says in one sentence that no system runs here', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['send'])
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^Oncehook is not running here: start it with `npm start`[^\n]*\n$/)
  })

  it('says that no system runs here if its process is gone', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:9', { pid: 2 ** 22 + 1 })
    const { exitCode, stderr } = await runCommand(['send'], folder)
    expect(exitCode).toBe(1)
    expect(stderr).toContain('Oncehook is not running here')
  })

  it('says that the gateway does not answer', async () => {
    await using folder = await makeDataFolder('http://127.0.0.1:9')
    const { exitCode, stdout, stderr } = await runCommand(['send', '--json'], folder)
    expect(exitCode).toBe(1)
    expect(stderr).toContain('POST /api/orders: no answer from http://127.0.0.1:9')
    expect(JSON.parse(stdout)).toMatchObject({ result: 'failed' })
  })

  it('delivers to another gateway with a secret and a token from files', async () => {
    await using gateway = await startFakeGateway()
    await using folder = await makeDataFolder('http://127.0.0.1:9')
    const secretFile = join(folder.dataFolder, 'secret')
    const tokenFile = join(folder.dataFolder, 'token')
    await writeFile(secretFile, `${fakeSecret}\n`)
    await writeFile(tokenFile, `${fakeToken}\n`)
    const args = ['send', '--url', `${gateway.url}/`, '--secret-file', secretFile, '--token-file', tokenFile]
    expect(await runCommand(args, folder)).toMatchObject({ exitCode: 0 })
  })

  it('never sends the local token to another gateway', async () => {
    await using gateway = await startFakeGateway()
    await using folder = await makeDataFolder('http://127.0.0.1:9')
    const { exitCode, stderr } = await runCommand(['send', '--url', gateway.url], folder)
    expect(exitCode).toBe(2)
    expect(stderr).toContain('--token-file')
  })

  it('signs with the requested secret', async () => {
    await using here = await startHere()
    expect(await here.sendJson('--secret-id', 'old')).toMatchObject({
      exitCode: 1,
      document: { deliveries: [{ status: 401 }] },
    })
    expect(await here.send('--secret-id', 'none')).toMatchObject({
      exitCode: 1,
      stderr: 'The provider acme has no secret none, only old, new\n',
    })
  })

  it('signs by the settings of the provider it delivers for', async () => {
    await using here = await startHere()
    await here.send('--provider', 'shop')
    expect(here.deliveries[0]?.headers['x-signature']).toMatch(/^sha256=[0-9a-f]{64}$/)
  })

  it('finds the provider with the requested scheme', async () => {
    await using here = await startHere()
    const { document } = await here.sendJson('--scheme', 'hmac')
    expect(document).toMatchObject({ provider: 'shop', scheme: 'hmac' })
  })

  it.each([
    [['--type', 'failed', '--sequence', 'failed'], 'Give --type or --sequence, not both'],
    [['--order', 'a', '--ensure-order', 'b'], 'Give --order or --ensure-order, not both'],
    [['--count', '2', '--event-id', 'evt_1'], '--count creates orders, events and payments'],
    [['--count', '1000', '--times', '1000'], 'That is more than 100000 single-event deliveries'],
    [
      ['--batch', '2'],
      'A delivery of standard-webhooks contains one event; --batch works with adyen (at most 250), gocardless',
    ],
    [['--batch', '5001'], "argument '5001' is invalid"],
    [['--amount', '1.5'], "argument '1.5' is invalid"],
    [['--currency', 'euro'], "argument 'euro' is invalid"],
    [['--rate', '0'], "argument '0' is invalid"],
    [['--sequence', 'failed,,failed'], 'is invalid'],
    [['--url', 'ftp://example.com'], 'is invalid'],
    [['--tamper', 'everything'], 'Allowed choices are body, signature, timestamp'],
    [['--scheme', 'none'], 'Unknown scheme none; known schemes: standard-webhooks'],
    [['--set', 'header=x'], 'The scheme standard-webhooks has no setting header; it has headerPrefix'],
    [['--set', 'header'], 'is invalid'],
    [['--event-id', 'evt.1'], 'without a dot'],
    [['--secret', 'whsec_canary'], 'Do not pass a secret as an argument: use --secret-file or --secret-env'],
    [['--secret=whsec_canary'], 'Do not pass a secret as an argument: use --secret-file or --secret-env'],
    [['--token', 'canary'], 'Do not pass a token as an argument: use --token-file or --token-env'],
    [['--secret-env', 'x', '--secret-file', 'y'], 'Give --secret-file or --secret-env, not both'],
    [['--secret-env', 'NOBODY'], 'The environment variable given by --secret-env is not set'],
    [['--secret-file', '/nowhere'], 'The file given by --secret-file cannot be read'],
    [['--unknown'], "unknown option '--unknown'"],
  ])('exits with 2 for %j and makes no order', async (args, message) => {
    await using here = await startHere()
    const { exitCode, stdout, stderr } = await here.send(...args)
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('canary')
    expect(here.orders.size).toBe(0)
  })
})
