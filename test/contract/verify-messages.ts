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

/** A message, and the secrets that sign it. */
export interface SignedMessage extends SentMessage {
  readonly secrets: readonly string[]
}

/** How to send each message of a contract, by its description. */
type Senders = Readonly<Record<string, () => Promise<SignedMessage>>>

/** The tests of a sender: it has a contract of this name, and sends what all of its contracts say. */
export function testMessages(provider: string, name: string, senders: Senders): void {
  const contracts = messageContractsOf(provider)

  it(`has a contract ${name}`, () => {
    expect(contracts.map((contract) => contract.name)).toContain(`messages/${name}.json`)
  })

  it.each(contracts)('sends what $name says', async (contract) => {
    await verifyMessages(contract, senders)
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
async function verifyMessages(contract: ContractFile, senders: Senders): Promise<void> {
  const { consumer, provider, interactions } = await readPact(contract.file)
  const who = `the consumer ${consumer.name} (contracts/${contract.name})`
  const unsent = interactions.filter(({ description }) => senders[description] === undefined)
  if (unsent.length > 0) {
    throw new Error(`Nobody sends to ${who}: ${unsent.map(({ description }) => description).join(', ')}`)
  }
  const refused: string[] = []
  const providers: [string, ReturnType<typeof providerWithMetadata>][] = []
  // Before the verification: Pact waits for no start of a service, and does not pass on why a message could not be made.
  for (const [description, send] of Object.entries(senders)) {
    const { body, headers, secrets } = await send()
    try {
      demandOneMessage(who, secrets, { body, headers })
    } catch (error) {
      refused.push(`- ${description}: ${String(error)}`)
    }
    providers.push([description, providerWithMetadata(async () => JSON.parse(body), Object.fromEntries(headers))])
  }
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
 * Checks what no pattern can: the official library accepts a signature with each secret of the bytes that were sent, and there is no
 * other one; the body and all headers have the same key, and nothing is compressed.
 * @throws with `who` and the difference
 */
export function demandOneMessage(who: string, secrets: readonly string[], { body, headers }: SentMessage): void {
  const signatures = headers.get('webhook-signature')?.split(' ') ?? []
  if (signatures.length !== secrets.length) {
    throw new Error(`${who} gets ${signatures.length} signatures, but ${secrets.length} secrets are valid`)
  }
  for (const [index, secret] of secrets.entries()) {
    try {
      new Webhook(secret).verify(body, Object.fromEntries(headers))
    } catch (error) {
      throw new Error(`${who} gets a message that standardwebhooks refuses with secret ${index + 1}: ${String(error)}`)
    }
  }
  const { key } = JSON.parse(body)
  for (const name of ['webhook-id', 'idempotency-key']) {
    const value = headers.get(name) ?? key
    if (value !== key) throw new Error(`${who} gets ${name}: ${value}, but the key in the body is ${key}`)
  }
  const encoding = headers.get('content-encoding')
  if (encoding !== null) throw new Error(`${who} gets a body in ${encoding}, which it did not ask for`)
}
