import { globSync } from 'node:fs'
import { join } from 'node:path'
import { MessageProviderPact, providerWithMetadata } from '@pact-foundation/pact'
import { describeVerification } from '../../scripts/contracts/describe-verification.ts'
import { CONTRACTS, type ContractFile, readPact } from './pact-files.ts'
import { recordResult } from './record-result.ts'

/** A message as it was sent. */
export interface SentMessage {
  readonly body: string
  readonly headers: Headers
}

/** The contracts of all receivers of a sender's messages, those of earlier releases included. */
export function messageContractsOf(provider: string): ContractFile[] {
  const patterns = [`messages/*-${provider}.json`, `releases/*/messages/*-${provider}.json`]
  const files = globSync(patterns, { cwd: CONTRACTS }).toSorted()
  return files.map((name) => ({ name, file: join(CONTRACTS, name) }))
}

/**
 * Makes the sender send every message of a contract, and compares what it sends.
 * @throws with the receiver and every message that is another one
 */
export async function verifyMessages(
  contract: ContractFile,
  senders: Readonly<Record<string, () => Promise<SentMessage>>>,
): Promise<void> {
  const { consumer, provider, interactions } = await readPact(contract.file)
  const who = `the consumer ${consumer.name} (contracts/${contract.name})`
  const unsent = interactions.filter(({ description }) => senders[description] === undefined)
  if (unsent.length > 0) {
    throw new Error(`Nobody sends to ${who}: ${unsent.map(({ description }) => description).join(', ')}`)
  }
  const providers = Object.entries(senders).map(([description, send]) => [
    description,
    async (descriptor: never) => {
      const { body, headers } = await send()
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
  const success = broken.length === 0
  recordResult(contract.file, { consumer: consumer.name, provider: provider.name, success })
  if (!success) throw new Error(`${provider.name} breaks what it owes to ${who}:\n${broken.join('\n')}`)
}
