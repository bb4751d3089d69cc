import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { createContractCaller } from './caller-states.ts'
import { contractEvent, formEvent, SPACED_EVENT } from './contract-event.ts'
import { type ContractHandler, type NextAnswer, startContractHandler } from './contract-handler.ts'
import { contractsOf } from './pact-files.ts'
import { HANDLER } from './sample-task.ts'
import { type StateHandler, verifyContract } from './verify-contract.ts'

type States = (handler: ContractHandler) => Readonly<Record<string, StateHandler>>

const eventsOf = (...ids: readonly string[]) => ids.map((id) => contractEvent(id))

const HANDLERS = [
  {
    by: 'https',
    secret: `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`,
    states: (({ answerNext }) => ({
      'the handler answers with a status': async (answer: NextAnswer) => answerNext(answer),
      'the handler takes batches': async () => undefined,
    })) as States,
    // The task of an unknown type has no effect.
    acted: [
      ...eventsOf('new', 'again', 'second', 'large', 'added', 'rotation', 'batched-1', 'batched-2'),
      formEvent(),
      SPACED_EVENT,
    ],
  },
  {
    by: 'trpc',
    secret: newServiceKeyPair().privateKey,
    states: (({ answerNext }) => ({
      'the handler answers with a status': async (answer: NextAnswer) => answerNext(answer),
      'the handler answers with results': async (answer: NextAnswer) => answerNext(answer),
      'the handler answers with a refusal': async (said: NextAnswer) => answerNext({ results: ['later'], ...said }),
    })) as States,
    acted: [...eventsOf('one', 'two', 'again', 'second', 'large', 'added', 'fine'), formEvent()],
  },
] as const

describe.each(HANDLERS)('a handler by $by with @oncehook/handler', ({ by, secret, states, acted }) => {
  const contracts = contractsOf(`${by}-handler`)

  it('has a contract with the gateway', () => {
    expect(contracts.map(({ name }) => name)).toContain(`gateway-${by}-handler.json`)
  })

  it.each(contracts)('answers as $name says, and acts once on each task', async (contract) => {
    await using database = await testDatabase(process.env)
    await using handler = await startContractHandler(database, by, secret)
    const caller = createContractCaller({ by, url: handler.url, name: HANDLER, secret })
    const all = { ...caller.states, ...states(handler) }
    await verifyContract({ contract, url: handler.url, states: all, filter: caller.filter })
    expect(await handler.effects()).toEqual(Object.fromEntries(acted.map(({ task }) => [task.key, 1])))
  })
})
