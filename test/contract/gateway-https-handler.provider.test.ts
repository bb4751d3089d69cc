import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { createContractCaller } from './caller-states.ts'
import { type NextAnswer, startHttpsHandler } from './https-handler.ts'
import { contractsOf, readPact } from './pact-files.ts'
import { HANDLER } from './sample-task.ts'
import { verifyContract } from './verify-contract.ts'

const SECRET = `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`
const CONTRACTS = contractsOf('https-handler')

describe('a handler with @oncehook/handler', () => {
  it('has a contract with the gateway', () => {
    expect(CONTRACTS.map(({ name }) => name)).toContain('gateway-https-handler.json')
  })

  it.each(CONTRACTS)('answers as $name says, and acts once on each task', async (contract) => {
    await using database = await testDatabase(process.env)
    await using handler = await startHttpsHandler(database, SECRET)
    const { states, filter } = createContractCaller({ by: 'https', url: handler.url, name: HANDLER, secret: SECRET })
    const ofHandler = { 'the handler answers with a status': async (answer: NextAnswer) => handler.answerNext(answer) }
    await verifyContract({ contract, url: handler.url, states: { ...states, ...ofHandler }, filter })
    const effects = await handler.effects()
    expect(new Set(Object.values(effects))).toEqual(new Set([1]))
    const done = (await readPact(contract.file)).interactions.filter(({ response }) => response?.status === 200)
    // The task of an unknown type has no effect.
    expect(Object.keys(effects)).toHaveLength(done.length - 1)
  })
})
