import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { ObjectId } from 'mongodb'
import { expect, it } from 'vitest'
import { contractsOf } from './pact-files.ts'
import { verifyContract } from './verify-contract.ts'

const READER_TOKEN = 'the-token-of-an-operator-who-may-only-read'

it.each(contractsOf('operator-api'))('the gateway answers operators as $name says', async (contract) => {
  await using database = await testDatabase(process.env)
  const tokens = { alice: 'the-token-of-alice-the-operator-of-the-test', reader: READER_TOKEN }
  const OPERATOR_TOKENS = JSON.stringify({
    alice: tokens.alice,
    reader: { tokens: [{ value: tokens.reader }], roles: ['read'] },
  })
  await using system = await startOperatedSystem(database, { settings: { OPERATOR_TOKENS } })
  let next = tokens.alice
  const headers = { authorization: `Bearer ${tokens.alice}`, 'content-type': 'application/json' }
  const change = async (verb: 'pause' | 'resume', provider: string, reason: string): Promise<number> => {
    const body = JSON.stringify({ provider, reason })
    return (await system.call(`/operator/providers.${verb}`, { method: 'POST', headers, body })).status
  }
  const resumeAll = async (): Promise<void> => {
    for (const name of ['acme', 'shop']) await change('resume', name, 'the next interaction begins')
  }
  await verifyContract({
    contract,
    url: system.gateway.adminUrl,
    filter: ({ headers }) => {
      headers.authorization = `Bearer ${next}`
      next = tokens.alice
    },
    states: {
      'nothing in particular': resumeAll,
      'an event is dead': async ({ id }: { id: string }) => {
        await resumeAll()
        const settled = { state: 'dead', reason: 'order_unknown', provider: 'acme' } as const
        const _id = new ObjectId(id)
        await system.events.deleteMany({ $or: [{ state: 'dead' }, { _id }] })
        await system.events.insertOne(sampleRecord({ _id, ...settled }))
      },
      'a provider was paused': async ({ provider, reason }: { provider: string; reason: string }) => {
        // Of two entries, so that there is another page.
        await resumeAll()
        for (const name of ['acme', provider]) expect(await change('pause', name, reason)).toBe(200)
      },
      'the operator has another token': async () => {
        next = 'the-token-of-somebody-else-who-is-no-operator'
      },
      'the operator may only read': async () => {
        next = tokens.reader
      },
    },
  })
})
