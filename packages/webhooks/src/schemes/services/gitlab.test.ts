import { describe, expect, it } from 'vitest'
import type { VerifiedDelivery } from '../../delivery.ts'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'

const clear = [{ value: 'a_clear_token_0001' }]
function verified(body: object): VerifiedDelivery {
  const delivery = { rawBody: Buffer.from(JSON.stringify(body)), rawHeaders: [], query: '', secretId: 's1' }
  return delivery as Partial<VerifiedDelivery> as VerifiedDelivery
}

describe('gitlab', () => {
  it('requires an API to query with a plaintext token', () => {
    expect(() => makeProvider({ settings: { scheme: 'gitlab' }, secrets: clear })).toThrow('"fetch" is needed')
  })

  it('refuses an invalid signing token', () => {
    const secrets = [{ value: 'whsec_!' }]
    expect(() => makeProvider({ settings: { scheme: 'gitlab' }, secrets })).toThrow('is not whsec_ followed by base64')
  })

  it('never reads a type with an effect from the body alone', () => {
    const settings = { scheme: 'gitlab', fetch: { baseUrl: 'http://127.0.0.1:9', token: 'glpat-1' } }
    const provider = makeProvider({ settings, secrets: clear })
    const claimed = onlyEvent(provider.readEvents(verified({ object_kind: 'payment.succeeded', project_id: 15 })))
    expect(claimed.type).toBe('unknown')
  })
})
