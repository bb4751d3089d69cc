import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveApi } from '@oncehook/webhooks/testing/serve-api'
import { describe, expect, it } from 'vitest'
import { type StateHandler, verifyContract } from './verify-contract.ts'

const STATE = 'the shop is open'

/** A contract of one interaction, verified against a server with fixed answers. */
async function verify(states: Record<string, StateHandler>, status = 200): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'pacts-'))
  await using served = await serveApi({ '/shop': [status, { open: true }] })
  const file = join(folder.path, 'customer-shop.json')
  const pact = {
    consumer: { name: 'customer' },
    provider: { name: 'shop' },
    interactions: [
      {
        description: 'looks in',
        providerStates: [{ name: STATE }],
        request: { method: 'GET', path: '/shop' },
        response: { status: 200 },
      },
    ],
    metadata: { pactSpecification: { version: '3.0.0' } },
  }
  await writeFile(file, JSON.stringify(pact))
  const contract = { name: 'customer-shop.json', file }
  await verifyContract({ contract, url: served.baseUrl, states, filter: () => undefined })
}

describe('verifyContract', () => {
  it('passes if the state is reached and the answer is correct', async () => {
    const entered: string[] = []
    await verify({ [STATE]: async () => void entered.push(STATE) })
    expect(entered).toEqual([STATE])
  })

  it('names the consumer and the interaction that is answered otherwise', async () => {
    await expect(verify({ [STATE]: async () => undefined }, 503)).rejects.toThrow(
      /^shop breaks what it owes to the consumer customer \(contracts\/customer-shop\.json\):\n- .*looks in: status expected 200 but was 503/,
    )
  })

  it('fails if no handler sets up a state', async () => {
    await expect(verify({})).rejects.toThrow(/^Nobody brings about for the consumer customer .*: the shop is open$/)
  })

  it('fails when a state fails, though the answer is as it should be', async () => {
    const fail = async () => {
      throw new Error('no key')
    }
    await expect(verify({ [STATE]: fail })).rejects.toThrow(/the consumer customer .*the shop is open: Error: no key/s)
  })
})
