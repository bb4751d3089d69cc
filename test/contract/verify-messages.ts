import { globSync } from 'node:fs'
import { join } from 'node:path'
import { MessageProviderPact, providerWithMetadata } from '@pact-foundation/pact'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { describeVerification } from '../../scripts/contracts/describe-verification.ts'
import { CONTRACTS, type ContractFile, readPact } from './pact-files.ts'

/** A message as it was sent. */
export interface SentMessage {
  readonly body: string
  readonly headers: Headers
}

/** A `fetch` that answers 204, and the only message that it was given. */
export function recordMessage() {
  const sent: SentMessage[] = []
  const record = async (_: unknown, init?: RequestInit): Promise<Response> => {
    sent.push({ body: String(init?.body), headers: new Headers(init?.headers) })
    return new Response(null, { status: 204 })
  }
  const message = (): SentMessage => {
    const [first] = sent
    if (first === undefined) throw new Error('Nothing was posted')
    return first
  }
  return { fetch: record, message }
}

/** How to send each message of a contract, by its description. */
type Senders = Readonly<Record<string, () => Promise<SentMessage>>>

/** The tests of a sender: it has a contract of this name, and sends what all of its contracts say, signed with a secret. */
export function testMessages(provider: string, name: string, secret: string, senders: Senders): void {
  const contracts = messageContractsOf(provider)

  it(`has a contract ${name}`, () => {
    expect(contracts.map((contract) => contract.name)).toContain(`messages/${name}.json`)
  })

  it.each(contracts)('sends what $name says', async (contract) => {
    await verifyMessages(contract, senders, secret)
  })
}

/** The contracts of all receivers of a sender's messages, those of earlier releases included. */
function messageContractsOf(provider: string): ContractFile[] {
  const patterns = [`messages/*-${provider}.json`, `releases/*/messages/*-${provider}.json`]
  const files = globSync(patterns, { cwd: CONTRACTS }).toSorted()
  return files.map((name) => ({ name, file: join(CONTRACTS, name) }))
}

/**
 * Makes the sender send every message of a contract, and compares what it sends.
 * @throws with the receiver and every message that is another one
 */
async function verifyMessages(contract: ContractFile, senders: Senders, secret: string): Promise<void> {
  const { consumer, provider, interactions } = await readPact(contract.file)
  const who = `the consumer ${consumer.name} (contracts/${contract.name})`
  const unsent = interactions.filter(({ description }) => senders[description] === undefined)
  if (unsent.length > 0) {
    throw new Error(`Nobody sends to ${who}: ${unsent.map(({ description }) => description).join(', ')}`)
  }
  // Pact does not pass on why a message could not be made.
  const refused: string[] = []
  const providers = Object.entries(senders).map(([description, send]) => [
    description,
    async (descriptor: never) => {
      const { body, headers } = await send()
      try {
        demandOneMessage(who, secret, { body, headers })
      } catch (error) {
        refused.push(`- ${description}: ${String(error)}`)
      }
      return providerWithMetadata(async () => JSON.parse(body), Object.fromEntries(headers))(descriptor)
    },
  ])
  const verified = new MessageProviderPact({
    provider: provider.name,
    pactUrls: [contract.file],
    logLevel: 'error',
    messageProviders: Object.fromEntries(providers),
  }).verify()
  const broken = await verified.then(
    () => [],
    (error: unknown) => describeVerification(error),
  )
  const all = [...refused, ...broken]
  if (all.length > 0) throw new Error(`${provider.name} breaks what it owes to ${who}:\n${all.join('\n')}`)
}

/**
 * Checks what no pattern can: the official library accepts the signature of the bytes that were sent, the body and all headers
 * have the same key, and nothing is compressed.
 * @throws with `who` and the difference
 */
export function demandOneMessage(who: string, secret: string, { body, headers }: SentMessage): void {
  try {
    new Webhook(secret).verify(body, Object.fromEntries(headers))
  } catch (error) {
    throw new Error(`${who} gets a message that standardwebhooks refuses: ${String(error)}`)
  }
  const { key } = JSON.parse(body)
  for (const name of ['webhook-id', 'idempotency-key']) {
    const value = headers.get(name) ?? key
    if (value !== key) throw new Error(`${who} gets ${name}: ${value}, but the key in the body is ${key}`)
  }
  const encoding = headers.get('content-encoding')
  if (encoding !== null) throw new Error(`${who} gets a body in ${encoding}, which it did not ask for`)
}
