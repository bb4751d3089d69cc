import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createFulfilmentClient, toFulfilmentError } from '@oncehook/gateway/fulfilment/fulfilment-client'
import { systemClock } from '@oncehook/kernel/clock'
import { AppError } from '@oncehook/kernel/errors'
import { Secret } from '@oncehook/kernel/secret'
import { testServiceTokens } from '@oncehook/kernel/testing/test-service-tokens'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkRelease } from '../../scripts/contracts/check-release.ts'
import type { FulfilmentDescription } from '../../scripts/contracts/describe-fulfilment.ts'
import { type RecordedCall, readRecordedCalls } from '../../scripts/contracts/recorded-calls.ts'
import { readRelease, releaseNames } from '../../scripts/contracts/release-files.ts'
import { CONTRACTS, contractsOf, readPact } from './pact-files.ts'

const releases = await releaseNames(CONTRACTS)

/** What today's gateway can do only with a newer fulfilment than that of a release, and does without after a rollback. */
const NEEDS_NEWER: Readonly<Record<string, readonly RegExp[]>> = {
  '0.1.0': [
    /^erasures\.\w+, the procedure is gone$/,
    /^encryption\.\w+, the procedure is gone$/,
    // It asks by GET after a 405.
    /^payments\.versions, the procedure was a mutation, is a query$/,
    // Tokens for own orders are refused.
    /^orders\.put, the input is no longer taken: \$\.: Unrecognized key: "owner"$/,
    // That fulfilment does not encrypt, and answers 500 for a damaged order.
    /^orders\.get, the code (?:order_unreadable|key_unknown) is gone$/,
  ],
}

/** Why recorded schemas do not accept an input, or null if they do. */
function problemFor({ procedures }: FulfilmentDescription, procedure: string, input: unknown): string | null {
  // Zod does not read `not`, which only narrows the form of an order id.
  const text = JSON.stringify(procedures[procedure]?.input)
  const schema = z.fromJSONSchema(JSON.parse(text, (name, value) => (name === 'not' ? undefined : value)))
  const { error } = schema.safeParse(input)
  return error === undefined
    ? null
    : error.issues.map(({ path, message }) => `$.${path.join('.')}: ${message}`).join('; ')
}

/** What the fulfilment of a release could not do for today's gateway: after a rollback, or before an update. */
async function findMissing(version: string): Promise<string[]> {
  const { description } = await readRelease(CONTRACTS, version)
  const { consumer, calls } = readRecordedCalls(await readPact(`${CONTRACTS}/gateway-fulfilment.json`))
  const today = { version: 'today', description: { procedures: {}, errors: {} }, consumers: [{ consumer, calls }] }
  const inputProblem = (procedure: string, input: unknown) => problemFor(description, procedure, input)
  return checkRelease(today, { description, inputProblem })
}

describe.each(releases)('the gateway with fulfilment of %s', (version) => {
  it('sends what that fulfilment takes, and needs nothing that it does not answer', async () => {
    const missing = (await findMissing(version)).filter((problem) => {
      const what = problem.replace(/^.*?: (?=\w+\.)/, '')
      return NEEDS_NEWER[version]?.some((known) => known.test(what)) !== true
    })
    if (missing.length > 0)
      throw new Error(`The gateway breaks with fulfilment of ${version}:\n- ${missing.join('\n- ')}`)
  })

  it('reads every answer that was recorded then', async () => {
    const { consumers } = await readRelease(CONTRACTS, version)
    await using served = await serveRecorded()
    const client = clientOf(served.url)
    const problems: string[] = []
    for (const { consumer, calls } of consumers) {
      for (const call of calls) {
        served.answer(call)
        const got = await ask(client, call)
        const who = `the consumer ${consumer} of ${version} ${call.does}`
        if (JSON.stringify(got) !== JSON.stringify(expectedOf(call)))
          problems.push(`${who}: reads ${JSON.stringify(got)}`)
      }
    }
    if (problems.length > 0) throw new Error(`Today's gateway misreads recorded answers:\n- ${problems.join('\n- ')}`)
  })
})

describe.each(releases)('a sender with a gateway of %s', (version) => {
  const recorded = contractsOf('gateway').filter(({ name }) => name.startsWith(`releases/${version}/`))

  it.each(recorded)('sends what was recorded in $name, and counts on the same answers', async ({ file, name }) => {
    const before = await readPact(file)
    const now = await readPact(`${CONTRACTS}/${before.consumer.name}-gateway.json`)
    for (const old of before.interactions) {
      const same = now.interactions.find(({ description }) => description === old.description)
      const who = `The consumer ${before.consumer.name} breaks with the gateway of ${version} (${name}): ${old.description}`
      expect(same?.request, who).toEqual(old.request)
      expect(same?.response, who).toEqual(old.response)
    }
  })
})

interface Served extends AsyncDisposable {
  readonly url: string
  /** What the next request gets. */
  answer(call: RecordedCall): void
}

/** Fulfilment of a release, as far as its answers are recorded. */
async function serveRecorded(): Promise<Served> {
  let next: RecordedCall | undefined
  const server = createServer((_, response) => {
    const { status = 500, data, refusal } = next ?? {}
    const error = { error: { message: 'A sentence of fulfilment', code: -32_000, data: refusal } }
    const body = refusal === undefined ? { result: { data } } : error
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: (call) => {
      next = call
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function clientOf(url: string) {
  const tokens = testServiceTokens(new Secret('a-secret-that-signs-nothing-that-counts'), { clock: systemClock })
  return createFulfilmentClient({ url: new URL(url), tokens, fetch: globalThis.fetch, timeoutMs: 5_000 })
}

type Asked = Record<string, Record<string, Record<'query' | 'mutate', (input: unknown) => Promise<unknown>>>>

/** What today's client makes of an answer: its data, or the code, the status and the retry class of a refusal. */
async function ask(client: ReturnType<typeof clientOf>, { procedure, kind, input }: RecordedCall): Promise<unknown> {
  const [group = '', name = ''] = procedure.split('.')
  const call = (client as unknown as Asked)[group]?.[name]?.[kind === 'query' ? 'query' : 'mutate']
  try {
    return await call?.(input)
  } catch (thrown) {
    const error = toFulfilmentError(thrown)
    return error instanceof AppError ? [error.code, error.status, error.retry] : null
  }
}

function expectedOf({ status, data, refusal }: RecordedCall): unknown {
  if (refusal === undefined) return data
  // Nobody but the operator can do anything about a refused token: the gateway tries again later.
  return status === 401 ? ['unavailable', 503, 'later'] : [refusal.reason, refusal.httpStatus, refusal.retry]
}
