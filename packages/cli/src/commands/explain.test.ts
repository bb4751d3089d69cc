import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { fakeSecret } from '../testing/fake-gateway.ts'
import { at, body, makeFiles, run, signed } from '../testing/given-delivery.ts'

describe('oncehook explain', () => {
  const pretty = JSON.stringify(JSON.parse(body), null, 2)
  const readEnv = (name: string) => (['ACME', 'S'].includes(name) ? fakeSecret : undefined)
  const args = ['--scheme', 'standard-webhooks', '--secret-env', 'ACME', ...at, ...signed]

  it('names the reason and what to do, exits with 1, and prints no secret', async () => {
    const { exitCode, stdout } = await run('explain', args, { readEnv, readStdin: async () => Buffer.from(pretty) })
    expect(exitCode).toBe(1)
    expect(stdout).toBe(
      `Settings   --scheme standard-webhooks, --secret-env ACME
Refused by standard-webhooks (standard-webhooks)
The delivery is accepted after this correction:
- The body was changed in transit: it was parsed and serialized again (signed without whitespace)
  Verify the received bytes before anything parses or stores them, and check that no proxy rewrites them
`,
    )
  })

  it('has nothing to explain if the delivery is accepted', async () => {
    const { exitCode, stdout } = await run('explain', args, { readEnv })
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(
      /^Settings .*\nAccepted by standard-webhooks \(standard-webhooks\), secret given: nothing to explain\n$/,
    )
  })

  it.each([
    ['no JSON', 'no JSON', 'not valid JSON (invalid_body)'],
    ['no id', '{"type":"t","data":{"object":{"id":"1"}}}', '(event_invalid)'],
    ['another shape', '{"id":"1","type":"email.sent","data":{"email_id":"1"}}', '(event_invalid)'],
  ])('says that the gateway answers 400 although the signature holds: %s', async (_, text, why) => {
    const settings = {
      header: 'x-signature',
      effects: ['payment.succeeded'],
      secrets: [{ id: '1', value: fakeSecret }],
    }
    const header = `x-signature: ${createHmac('sha256', fakeSecret).update(text).digest('hex')}`
    const explain = async (more: object, ...args: string[]) => {
      const PROVIDERS = JSON.stringify({ psp: { scheme: 'hmac', ...settings, ...more } })
      return run('explain', ['-H', header, ...args], {
        readEnv: (name: string) => (name === 'PROVIDERS' ? PROVIDERS : undefined),
        readStdin: async () => Buffer.from(text),
      })
    }
    const { exitCode, stdout } = await explain({})
    expect(exitCode).toBe(1)
    const [, refused, fix] = stdout.split('\n')
    expect(refused).toMatch(/^Refused by psp \(hmac\), although the signature holds: /)
    expect(refused).toContain(why)
    expect(fix).toContain('`read`')
    const json = JSON.parse((await explain({}, '--json')).stdout)
    expect(json).toMatchObject({
      result: 'refused',
      invalid: { code: expect.stringMatching(/^(invalid_body|event_invalid)$/) },
    })
    // With the setting that the fix names, it is taken.
    expect((await explain({ read: { type: '/type' } })).exitCode).toBe(0)
  })

  it('does not call a delivery accepted by settings with which the gateway would not start', async () => {
    const secrets = [{ id: '1', value: fakeSecret }]
    const settings = { scheme: 'standard-webhooks', effects: [], events: { a: 'payment.succeeded' }, secrets }
    const { exitCode, stdout, stderr } = await run('explain', [...at, ...signed], {
      readEnv: (name: string) => (name === 'PROVIDERS' ? JSON.stringify({ psp: settings }) : undefined),
    })
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain('The gateway would not start with these settings of psp: events maps to a type')
  })

  describe('of an accepted delivery of Stripe', () => {
    const seconds = 1_760_000_000
    const object = { id: 'pi_1', metadata: { orderId: 'ord_1' }, amount_received: 100, currency: 'eur' }
    const payment = { id: 'evt_1', type: 'payment_intent.succeeded', livemode: true, data: { object } }
    async function explain(event: object, settings: object, ...more: string[]) {
      const text = JSON.stringify(event)
      const mac = createHmac('sha256', fakeSecret).update(`${seconds}.${text}`).digest('hex')
      const secrets = [{ id: '1', value: fakeSecret }]
      const PROVIDERS = JSON.stringify({ shop: { scheme: 'stripe', ...settings, secrets } })
      const lines = ['-H', `stripe-signature: t=${seconds},v1=${mac}`, '--now', String(seconds)]
      return run('explain', [...lines, ...more], {
        readStdin: async () => Buffer.from(text),
        readEnv: (name: string) => (name === 'PROVIDERS' ? PROVIDERS : undefined),
      })
    }

    it.each<[what: string, event: object, settings: object, says: readonly [why: string, cure: string]]>([
      [
        'a test event where live ones are expected',
        { ...payment, livemode: false },
        {},
        [
          '(`expect`; for Stripe `livemode` and `account`), here because of /livemode (not_expected)',
          'set "testMode": true for test events of Stripe',
        ],
      ],
      [
        'an event of another account of Connect',
        { ...payment, account: 'acct_2' },
        { expect: { '/account': 'acct_1' } },
        ['here because of /account (not_expected)', 'correct `expect`'],
      ],
      [
        'a type whose mapping has a condition',
        { ...payment, type: 'invoice.paid' },
        { events: { 'invoice.paid': { is: 'payment.succeeded', where: { '/data/object/status': 'paid' } } } },
        ['conditions of its mapping (`where`) (type_unhandled)', '`events`'],
      ],
      ['a body that is no event', [], {}, ['nobody could read it as an event (unreadable)', 'it is read again']],
      [
        'a payment without an amount',
        { ...payment, data: { object: { id: 'pi_1' } } },
        {},
        ['It will be dead: it has no amount with a currency (amount_missing)', '"requireAmount": false'],
      ],
    ])('names the reason and the cure: %s', async (_, event, settings, [why, cure]) => {
      const { exitCode, stdout } = await explain(event, settings)
      expect(exitCode).toBe(0)
      const [reason, todo] = stdout
        .split('\n')
        .slice(2)
        .filter((line) => !/^(read\.|events of )/.test(line))
      expect(reason).toMatch(/^(No effect on an order|It will be dead): /)
      expect(reason).toContain(why)
      expect(todo).toContain(cure)
    })

    it('has the same in JSON, and says why no handler gets it', async () => {
      const event = { ...payment, livemode: false }
      expect(JSON.parse((await explain(event, {}, '--json')).stdout)).toMatchObject({
        withheld: [{ reason: 'not_expected', pointer: '/livemode' }],
      })
      await using files = await makeFiles({ handlers: '{"any":{"trpc":"http://a/trpc","events":[{"types":["*"]}]}}' })
      expect((await explain(event, {}, '--handlers-file', files.path('handlers'))).stdout).toContain(
        'no handler gets a task\n- not for any: its mode or account is not the one that the provider has to send',
      )
    })
  })

  it('says what each pointer of the settings finds', async () => {
    const settings = {
      ...{ scheme: 'hmac', header: 'x-signature', effects: [], secrets: [{ id: '1', value: fakeSecret }] },
      read: { type: '/event', order: '/data/order' },
      events: { 'charge.success': { is: 'charge.paid', where: { '/data/status': 'success' } } },
    }
    await using files = await makeFiles({ providers: JSON.stringify({ paystack: settings }) })
    const text = JSON.stringify({ event: 'charge.success', data: { status: 'pending', id: 1 } })
    const header = `x-signature: ${createHmac('sha256', fakeSecret).update(text).digest('hex')}`
    const given = ['--providers-file', files.path('providers'), '-H', header]
    const { exitCode, stdout } = await run('explain', given, { readStdin: async () => Buffer.from(text) })
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: `Settings   --providers-file ${files.path('providers')}
Accepted by paystack (hmac), secret 1
read.type at /event: "charge.success"
read.order at /data/order: nothing
events of charge.success, where at /data/status: "pending"
No effect on an order: its type is not mapped to a payment, or it does not meet the conditions of its mapping (\`where\`) (type_unhandled)
  If it is one, correct \`events\` of the provider, then replay it
`,
    })
  })

  describe('with handlers', () => {
    const at = (members: object) => ({ trpc: 'http://127.0.0.1:9/trpc', events: [{ types: ['*'], ...members }] })
    const handlers = {
      search: at({}),
      billing: at({ where: { '/data/object/note': 'other', '/id': 'evt_0001' } }),
      crm: { ...at({}), events: [{ types: ['customer.*'] }, { provider: 'stripe', types: ['*'] }] },
      mail: {
        https: 'https://mail.example/',
        secrets: [{ id: '1', value: { env: 'NO' } }],
        events: [{ types: ['payment.*'] }],
      },
    }
    const text = JSON.stringify(handlers)
    const tasks = `Event evt_0001 of the type payment.succeeded: tasks for fulfilment, search, mail
- not for billing: it wants another value at /data/object/note
- not for crm: entry 1 of its events: it wants other types; entry 2 of its events: it wants another provider
`

    it.each(['--handlers-file', 'HANDLERS_FILE', 'HANDLERS'])(
      'says who gets a task, and why others do not: %s',
      async (how) => {
        await using files = await makeFiles({ handlers: text })
        const given: Record<string, string> = { HANDLERS: text, HANDLERS_FILE: files.path('handlers') }
        const more = how.startsWith('--') ? [how, files.path('handlers')] : []
        const { exitCode, stdout } = await run('explain', [...args, ...more], {
          readEnv: (name: string) => readEnv(name) ?? (name === how ? given[how] : undefined),
        })
        expect(stdout).toBe(
          `Settings   --scheme standard-webhooks, --secret-env ACME
Accepted by standard-webhooks (standard-webhooks), secret given\n${tasks}`,
        )
        expect(exitCode).toBe(0)
        expect(stdout).not.toContain('other 10')
      },
    )

    it('says what is wrong with the setting, and nothing of its values', async () => {
      await using files = await makeFiles({ handlers: '{"shop":{"https":"canary"}}' })
      const given = [...args, '--handlers-file', files.path('handlers')]
      const { exitCode, stderr } = await run('explain', given, { readEnv })
      expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining('HANDLERS.shop.events') })
      expect(stderr).not.toContain('canary')
      const set = (name: string) => (name === 'HANDLERS_FILE' ? files.path('handlers') : readEnv(name))
      const named = await run('explain', args, { readEnv: set })
      expect(named).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('HANDLERS_FILE.shop.events') })
      const missing = await run('explain', [...args, '--handlers-file', '/nowhere'], { readEnv })
      expect(missing).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('/nowhere cannot be read') })
    })
  })

  it('never downloads the certificate of PayPal', async () => {
    const lines = ['-H', 'paypal-transmission-id: 1']
    const { exitCode, stderr } = await run('explain', ['--scheme', 'paypal', '--secret-env', 'ID', ...lines], {
      readEnv: () => '1JE4291016473214C',
    })
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('certificates') })
  })
})
