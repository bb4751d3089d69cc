import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageConsumerPact } from '@pact-foundation/pact'
import { expect } from 'vitest'
import { CONTRACTS, commitPact, readPact } from './pact-files.ts'

type Template = Parameters<MessageConsumerPact['withContent']>[0]

/** A message that a consumer receives: a POST, as its JSON and the headers that it relies on. */
interface ExpectedMessage {
  readonly does: string
  readonly content: Template
  readonly headers: Parameters<MessageConsumerPact['withMetadata']>[0]
}

/** An example of a message. */
export interface ReceivedMessage {
  readonly content: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
}

/** The contract of one receiver of messages with their sender, while the receiver's tests write it. */
export interface MessageContract extends AsyncDisposable {
  /**
   * Gives an example of the message to the receiver's real code.
   * @throws with the receiver's name, if it cannot handle the example
   */
  expectMessage(message: ExpectedMessage, receive: (message: ReceivedMessage) => Promise<void>): Promise<void>
  /** Compares the messages with the committed contract, or updates the contract on request. */
  compareWithCommitted(env: NodeJS.ProcessEnv): Promise<void>
}

/** Opens the contract of a receiver with a sender, `contracts/messages/<receiver>-<sender>.json`. */
export async function openMessageContract(consumer: string, provider: string): Promise<MessageContract> {
  const folder = await mkdtemp(join(tmpdir(), 'pacts-'))
  const name = `${consumer}-${provider}.json`
  const [written, target] = [join(folder, name), join(CONTRACTS, 'messages', name)]
  return {
    async expectMessage({ does, content, headers }, receive) {
      const pact = new MessageConsumerPact({ consumer, provider, dir: folder, logLevel: 'error', spec: 4 })
      const message = pact.expectsToReceive(does).withContent(content).withMetadata(headers)
      await message
        .verify(async ({ contents, metadata }) => {
          const { content: example } = contents as { readonly content?: object }
          await receive({ content: { ...example }, headers: { ...Object(metadata) } })
        })
        .catch((cause: unknown) => {
          throw new Error(`The consumer ${consumer} cannot handle what messages/${name} has: ${does}`, { cause })
        })
    },
    async compareWithCommitted(env) {
      if (env.UPDATE_CONTRACTS === '1') await commitPact(written, target)
      const hint = `The consumer ${consumer} relies on other messages (contracts/messages/${name}): UPDATE_CONTRACTS=1 npm test -- test/contract`
      expect(await readPact(written), hint).toEqual(await readPact(target))
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
