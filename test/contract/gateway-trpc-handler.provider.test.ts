import { Secret } from '@oncehook/kernel/secrets/secret'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { createContractCaller } from './caller-states.ts'
import { contractsOf } from './pact-files.ts'
import { HANDLER } from './sample-task.ts'
import { type RefusalText, startTrpcHandler } from './trpc-handler.ts'
import { startTrpcLibraryHandler } from './trpc-library-handler.ts'
import { verifyContract } from './verify-contract.ts'

const SECRET = 'a secret of service tokens in a test of contracts'
const CONTRACTS = contractsOf('trpc-handler')

describe.each([
  ['without a library', startTrpcHandler],
  ['of the library', startTrpcLibraryHandler],
])('a handler of events.handle %s', (_, start) => {
  it('has a contract with the gateway', () => {
    expect(CONTRACTS.map(({ name }) => name)).toContain('gateway-trpc-handler.json')
  })

  it.each(CONTRACTS)('answers as $name says, and acts once on each task', async (contract) => {
    await using database = await testDatabase(process.env)
    await using handler = await start(database, new Secret(SECRET))
    const { states, filter } = createContractCaller({ by: 'trpc', url: handler.url, name: HANDLER, secret: SECRET })
    const ofHandler = {
      'the handler answers with a status': async (answer: { status: number }) => handler.answerNext(answer),
      'the handler answers with results': async (answer: { results: string[] }) => handler.answerNext(answer),
      'the handler answers with a refusal': async (refusal: RefusalText) =>
        handler.answerNext({ results: ['later'], refusal }),
    }
    await verifyContract({ contract, url: handler.url, states: { ...states, ...ofHandler }, filter })
    const effects = await handler.effects()
    const tasks = ['one', 'two', 'again', 'second', 'form', 'large', 'added', 'fine'].map(
      (id) => `stripe:${id}:${HANDLER}`,
    )
    expect(effects).toEqual(Object.fromEntries(tasks.map((key) => [key, 1])))
  })
})
