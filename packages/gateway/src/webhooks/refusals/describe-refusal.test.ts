import { createHash } from 'node:crypto'
import { hostileBodies } from '@oncehook/webhooks/testing/hostile-bodies'
import { describe, expect, it } from 'vitest'
import { readProviders } from '../providers/providers.ts'
import { describeRefusal } from './describe-refusal.ts'

const hexKey = (text: string) => createHash('sha256').update(text).digest('hex')
const MOST_BYTES = 131_072

/** Nine providers of Adyen with three secrets each. Whatever checks a body for one of them adds its bytes. */
function nineProviders() {
  const names = Array.from({ length: 9 }, (_, at) => `shop-${at}`)
  const settings = names.map((name) => {
    const secrets = ['1', '2', '3'].map((id) => ({ id, value: hexKey(name + id) }))
    return [name, { scheme: 'adyen', expect: {}, effects: [], secrets }] as const
  })
  const sources = { readEnv: () => undefined, readFile: () => '', maxBytes: 1_048_576, toleranceSeconds: 300 }
  const read = readProviders(JSON.stringify(Object.fromEntries(settings)), sources)
  const work = { checks: 0, bytes: 0 }
  const counted = [...read.values()].map((provider) => ({
    ...provider,
    verify: (...call: Parameters<typeof provider.verify>) => {
      work.checks += 1
      work.bytes += call[0].rawBody.length
      return provider.verify(...call)
    },
  }))
  return { providers: counted, work }
}

describe('the description of a refused delivery', () => {
  const refuse = (rawBody: Buffer) => {
    const { providers, work } = nineProviders()
    const [provider] = providers
    if (provider === undefined) throw new Error('There is no provider')
    const refused = { provider, address: '192.0.2.1', requestId: 'r', rawHeaders: [], rawBody, url: '/' }
    const answer = { code: 'signature_invalid', status: 401, message: '', why: 'signature_mismatch' }
    describeRefusal(refused, answer, { now: Date.now(), providers })
    return work
  }

  it.each(hostileBodies(65_536))('costs few checks, however many providers there are: %s', (_, rawBody) => {
    const { bytes } = refuse(rawBody)
    // Its own provider may check it once more.
    expect(bytes + rawBody.length).toBeLessThanOrEqual(MOST_BYTES)
  })

  it('tries eight other providers with a body of the usual size', () => {
    expect(refuse(Buffer.alloc(8_192, ' '))).toEqual({ checks: 8, bytes: 8 * 8_192 })
  })
})
