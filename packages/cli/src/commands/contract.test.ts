import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { describe, expect, it } from 'vitest'
import { runCommand } from '../testing/run-command.ts'

const SECRET = `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`
const PRIVATE_KEY = newServiceKeyPair().privateKey
const JSON_TYPE = { 'content-type': 'application/json' }

interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

type Answer = number | { readonly status: number; readonly headers?: Record<string, string>; readonly json?: object }

/** A handler of somebody else, without any library of ours. */
async function serve(answer: (received: Received) => Answer) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const { url: path = '/', headers } = request
    const one = { path, headers, body: await text(request) }
    received.push(one)
    const given = answer(one)
    const { status, headers: more = {}, json = {} } = typeof given === 'number' ? { status: given } : given
    response.writeHead(status, more).end(JSON.stringify(json))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    ...{ received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks` },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** Whether a call is authentic, as a library of Standard Webhooks decides. `body` may be another text than was sent. */
function isAuthentic({ headers, body }: Received, toleranceSeconds = 300): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > toleranceSeconds) return false
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64')
  const right = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`)
  return String(signatures)
    .split(' ')
    .map((signature) => Buffer.from(signature))
    .some((signature) => signature.length === right.length && timingSafeEqual(signature, right))
}

function verify(url: string, ...more: readonly string[]) {
  const args = ['contract', 'verify', '--handler', url, '--secret-env', 'HANDLER_SECRET', '--timeout', '20000', ...more]
  const secret = more.includes('trpc') ? PRIVATE_KEY : SECRET
  return runCommand(args, { readEnv: (name) => (name === 'HANDLER_SECRET' ? secret : undefined) })
}

describe('oncehook contract verify --handler', () => {
  it('exits with 0 for a handler that keeps the contract, and says per line what it sent, expected and got', async () => {
    await using handler = await serve((received) => (isAuthentic(received) ? 204 : 401))
    const { exitCode, stdout, stderr } = await verify(handler.url, '--name', 'search', '--type', 'product.updated')
    expect(stderr).toBe('')
    expect(stdout).toContain('ok        sends a task: expected 2xx, got 204\n')
    expect(stdout).toContain('signed an hour ago: expected 4xx, got 401\n')
    expect(stdout).toMatch(/\n11 kept, 0 not kept, 0 left out\n$/)
    expect(exitCode).toBe(0)
    const tasks = handler.received.map(({ body }) => JSON.parse(body))
    expect(new Set(tasks.map(({ type }) => type))).toEqual(new Set(['product.updated', 'contract.unknown']))
    const keys = handler.received.map(({ headers }) => headers['webhook-id'])
    expect(keys).toEqual(tasks.map(({ key }) => key))
    expect(tasks.every(({ key, eventId }) => key === `stripe:${eventId}:search`)).toBe(true)
    // Only the task that is sent again has the key of another one.
    expect(keys.length - new Set(keys).size).toBe(1)
    expect(stdout).not.toContain(SECRET)
  })

  it('sends two events in one call with --batch, and demands a result for each', async () => {
    await using handler = await serve((received) => {
      const { events } = JSON.parse(received.body)
      if (!isAuthentic(received)) return 401
      return events === undefined
        ? 204
        : { status: 200, headers: JSON_TYPE, json: { results: events.map(() => ({ done: true })) } }
    })
    const { exitCode, stdout } = await verify(handler.url, '--batch')
    expect(stdout).toContain('ok        sends two tasks in a batch: expected 2xx, got 200\n')
    expect(exitCode).toBe(0)
    await using careless = await serve((received) => (isAuthentic(received) ? 204 : 401))
    const refused = await verify(careless.url, '--batch')
    expect(refused.stdout).toContain('Answer 200 with `results`')
    expect(refused.exitCode).toBe(1)
  })

  it.each([
    {
      fault: 'accepts every signature',
      answer: () => 200,
      says: ['with a secret that the handler does not know: expected 4xx, got 200', 'signed an hour ago: expected 4xx'],
      advice: 'Verify the signature before anything else',
    },
    {
      fault: 'does not look at the time',
      answer: (received: Received) => (isAuthentic(received, Number.POSITIVE_INFINITY) ? 200 : 401),
      says: ['signed an hour ago: expected 4xx, got 200'],
      advice: 'Refuse a signed time',
    },
    {
      fault: 'verifies what it has parsed and written again',
      answer: ({ body, ...more }: Received) =>
        isAuthentic({ ...more, body: JSON.stringify(JSON.parse(body)) }) ? 200 : 401,
      says: ['written with spaces: expected 2xx, got 401'],
      advice: 'Verify the bytes as they arrive',
    },
    {
      fault: 'knows one signature only',
      answer: (received: Received) =>
        !String(received.headers['webhook-signature']).includes(' ') && isAuthentic(received) ? 200 : 401,
      says: ['while its secrets change: expected 2xx, got 401'],
      advice: 'any of its signatures',
    },
    {
      fault: 'takes small bodies only',
      answer: (received: Received) => (received.body.length > 100_000 ? 413 : isAuthentic(received) ? 200 : 401),
      says: ['sends a large body: expected 2xx, got 413'],
      advice: 'Permit bodies as large',
    },
    {
      fault: 'refuses properties that it does not know',
      answer: (received: Received) =>
        Object.hasOwn(JSON.parse(received.body), 'later') ? 422 : isAuthentic(received) ? 200 : 401,
      says: ['with a property that the handler does not know: expected 2xx, got 422'],
      advice: 'Act on the task',
    },
  ])('exits with 1 for a handler that $fault', async ({ answer, says, advice }) => {
    await using handler = await serve(answer)
    const { exitCode, stdout } = await verify(handler.url)
    for (const line of says) expect(stdout).toContain(line)
    expect(stdout).toContain(advice)
    expect(exitCode).toBe(1)
  })

  it('notices a handler that refuses what it has seen before', async () => {
    const seen = new Set<string>()
    await using handler = await serve((received) => {
      if (!isAuthentic(received)) return 401
      const key = String(received.headers['webhook-id'])
      return seen.size === seen.add(key).size ? 409 : 200
    })
    const { stdout } = await verify(handler.url)
    expect(stdout).toContain('because the first answer was lost: expected 2xx, got 409')
    expect(stdout).toContain('1 not kept')
  })

  it('leaves out what a handler refuses for good if the body is made up, and repeats what the handler says', async () => {
    await using handler = await serve((received) => {
      if (!isAuthentic(received)) return 401
      return { status: 422, json: { error: 'refused', message: 'The event has no invoice\nwith a customer' } }
    })
    const { exitCode, stdout } = await verify(handler.url)
    expect(stdout).toContain(`left out  sends a task: expected 2xx, got 422
          your handler refuses the event for good
          it says: The event has no invoice with a customer
          The command made the body up: give it an event that your handler acts on, with --body, --type and --provider
`)
    expect(stdout).not.toMatch(/any of its signatures|bytes as they arrive|Store the key/)
    expect(stdout).toMatch(/\n4 kept, 0 not kept, 7 left out\n$/)
    expect(exitCode).toBe(0)
  })

  it('accepts that a handler of JSON refuses for good a delivery that is not JSON', async () => {
    await using handler = await serve((received) => {
      if (!isAuthentic(received)) return 401
      return JSON.parse(received.body).body === undefined ? 422 : 200
    })
    const { exitCode, stdout } = await verify(handler.url)
    expect(stdout).toMatch(/ok {8}sends a delivery that is not JSON: expected 200.* or 422, got 422/)
    expect(exitCode).toBe(0)
  })

  it('notices a handler that refuses forged and authentic tasks alike', async () => {
    await using handler = await serve(() => 422)
    const { exitCode, stdout } = await verify(handler.url)
    expect(stdout).toMatch(
      /failed {4}sends a task signed with a secret .*\n.*nothing shows that signatures are verified/,
    )
    expect(exitCode).toBe(1)
  })

  it('repeats what a handler says, and gives no other advice than for the first call', async () => {
    const answer = { status: 500, json: { error: 'failed', message: 'no table' } }
    await using handler = await serve((received) => (isAuthentic(received) ? answer : 401))
    const { exitCode, stdout } = await verify(handler.url)
    expect(stdout).toContain('it says: no table')
    expect(stdout).toContain('The command made the body up')
    expect(stdout).toContain('The first call was answered like this, too: begin with it')
    expect(stdout).not.toMatch(/any of its signatures|bytes as they arrive|Store the key/)
    expect(exitCode).toBe(1)
  })

  async function verifyBody(body: object, ...more: readonly string[]) {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'contract-'))
    const file = join(folder.path, 'body.json')
    await writeFile(file, JSON.stringify(body))
    await using handler = await serve((received) => (isAuthentic(received) ? 200 : 401))
    const { stdout } = await verify(handler.url, '--body', file, ...more)
    const tasks = handler.received.map((received) => JSON.parse(received.body))
    return { stdout, tasks: tasks.filter((task) => task.body !== undefined) }
  }

  it('sends the body that it is given, each time as another event about another object', async () => {
    const object = { id: 'sub_1', customer: 'cus_1' }
    const { stdout, tasks } = await verifyBody({ id: 'evt_of_ours', livemode: false, data: { object } })
    expect(tasks).toHaveLength(11)
    for (const { eventId, objectId, body } of tasks) {
      expect(body).toMatchObject({
        id: eventId,
        livemode: false,
        data: { object: { id: objectId, customer: 'cus_1' } },
      })
      expect(eventId).toMatch(/^evt_contract_/)
      expect(objectId).toMatch(/^sub_contract_/)
    }
    // Only the task that is sent again is about the object of another one.
    expect(new Set(tasks.map(({ objectId }) => objectId)).size).toBe(tasks.length - 1)
    expect(stdout).not.toContain('--object-id')
  })

  it('finds the id of the object where it is told, also if it is a number', async () => {
    const { tasks } = await verifyBody({ action: 'closed', order: { id: 7 } }, '--object-id', '/order/id')
    for (const { objectId, body } of tasks) expect(String(body.order.id)).toBe(objectId)
    expect(new Set(tasks.map(({ objectId }) => objectId)).size).toBe(tasks.length - 1)
  })

  it('says that all events are about one object if the body has no id there', async () => {
    const { stdout, tasks } = await verifyBody({ order: 7 })
    expect(stdout).toContain('All events are about one object: the body has no id at /data/object/id')
    expect(tasks.every((task) => !('objectId' in task))).toBe(true)
  })

  /** A handler of events.handle that verifies no signature. `answer` says the results of the events. */
  const serveTrpc = (answer: (events: readonly object[]) => readonly object[]) =>
    serve(({ headers, body }) => {
      const [, claims = ''] = String(headers.authorization).split('.')
      const { aud, exp, bsh, proc } = JSON.parse(Buffer.from(claims, 'base64url').toString())
      const { handler: name, events } = JSON.parse(body)
      const isMine = aud === name && exp > Date.now() / 1_000 && proc === 'events.handle' && typeof bsh === 'string'
      if (!isMine) return 401
      const json = { result: { data: { results: answer(events) } } }
      return { status: 200, headers: { 'content-type': 'application/json' }, json }
    })

  it('leaves out what a handler of events.handle refuses for good', async () => {
    const refused = { refused: 'no_plan', retry: 'never', message: 'The plan is unknown' }
    await using handler = await serveTrpc((events) => events.map(() => refused))
    const { stdout } = await verify(handler.url.replace('/webhooks', '/trpc'), '--by', 'trpc')
    expect(stdout).toMatch(/left out {2}sends two tasks: expected .*\n.*\n {10}it says: The plan is unknown\n/)
    expect(stdout).toMatch(/ok {8}sends a delivery that is not JSON/)
  })

  it('calls a handler of events.handle with a token for its name', async () => {
    // Its last result is missing.
    await using handler = await serveTrpc((events) => events.slice(0, 1).map(() => ({ done: true })))
    const { exitCode, stdout } = await verify(handler.url.replace('/webhooks', '/trpc'), '--by', 'trpc')
    expect(new Set(handler.received.map(({ path }) => path))).toEqual(new Set(['/trpc/events.handle']))
    expect(stdout).toContain('the length of $.result.data.results is 1 instead of 2')
    expect(stdout).toContain('ok        sends a task although the token is for another service: expected 401, got 401')
    expect(stdout).toContain('failed    sends a task although the sender has another secret: expected 401, got 200')
    expect(exitCode).toBe(1)
  })

  it.each([
    ['https', 'Check the secret: your handler'],
    ['trpc', 'and --name: a token is for the handler of this name only'],
  ])('advises what to check if a handler by %s accepts no call', async (by, advice) => {
    await using handler = await serve(() => 401)
    const { exitCode, stdout } = await verify(handler.url, '--by', by)
    expect(stdout.split('\n').slice(0, 3).join('\n')).toContain(advice)
    expect(exitCode).toBe(1)
  })

  it('says that nobody answers, and sends nothing more', async () => {
    const gone = await serve(() => 200)
    await gone[Symbol.asyncDispose]()
    const { exitCode, stderr } = await verify(gone.url)
    expect(stderr).toMatch(/^The handler gave no answer: .*ECONNREFUSED/)
    expect(exitCode).toBe(1)
  })

  it.each([
    [['--handler', 'http://127.0.0.1:1/'], '--handler needs --secret-file or --secret-env'],
    [['--handler', 'ftp://x', '--secret-env', 'HANDLER_SECRET'], 'Must be a URL such as'],
    [['--handler', 'http://127.0.0.1:1/', '--secret-env', 'SHORT'], 'The secret is not base64'],
    [['--handler', 'http://127.0.0.1:1/', '--secret', SECRET], 'Do not pass a secret as an argument'],
  ])('exits with 2 for %j', async (args, said) => {
    const readEnv = (name: string) => ({ HANDLER_SECRET: SECRET, SHORT: 'not base64!' })[name]
    const { exitCode, stderr } = await runCommand(['contract', 'verify', ...args], { readEnv })
    expect(stderr).toContain(said)
    expect(exitCode).toBe(2)
  })
})

it('oncehook contract show prints the contracts and the catalogue', async () => {
  for (const [name, property] of [
    ['https-handler', 'interactions'],
    ['trpc-handler', 'interactions'],
    ['states', 'states'],
  ] as const) {
    const { exitCode, stdout } = await runCommand(['contract', 'show', name])
    expect(JSON.parse(stdout)[property].length).toBeGreaterThan(5)
    expect(exitCode).toBe(0)
  }
})
