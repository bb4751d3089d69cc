import { describe, expect, it } from 'vitest'
import type { VerifiedDelivery } from '../../delivery.ts'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'
import { serveApi } from '../../testing/serve-api.ts'

const signing = [{ value: 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=' }]
const clear = [{ value: 'a_clear_token_0001' }]
const mergeRequest = {
  object_kind: 'merge_request',
  project: { id: 15 },
  object_attributes: { id: 99, iid: 7, action: 'merge', updated_at: '2026-01-01T00:00:00Z' },
}

function verified(body: object, signedId?: string): VerifiedDelivery {
  const delivery = { rawBody: Buffer.from(JSON.stringify(body)), rawHeaders: [], query: '', secretId: 's1' }
  return {
    ...delivery,
    ...(signedId === undefined ? {} : { signedId }),
  } as Partial<VerifiedDelivery> as VerifiedDelivery
}

describe('gitlab', () => {
  it('reads a signed event under the signed id', () => {
    const provider = makeProvider({ settings: { scheme: 'gitlab' }, secrets: signing })
    expect(onlyEvent(provider.readEvents(verified(mergeRequest, 'msg_1')))).toMatchObject({
      id: 'msg_1',
      type: 'merge_request.merge',
      objectId: '99',
      facts: { occurredAt: '2026-01-01T00:00:00.000Z' },
    })
  })

  it('requires an API to query with a plaintext token', () => {
    expect(() => makeProvider({ settings: { scheme: 'gitlab' }, secrets: clear })).toThrow('"fetch" is needed')
  })

  it('refuses an invalid signing token', () => {
    const secrets = [{ value: 'whsec_!' }]
    expect(() => makeProvider({ settings: { scheme: 'gitlab' }, secrets })).toThrow('is not whsec_ followed by base64')
  })

  it('with a static token, uses only what GitLab itself returns', async () => {
    await using api = await serveApi({
      '/api/v4/projects/15/merge_requests/7': [
        200,
        { state: 'opened', updated_at: '2026-01-02T00:00:00Z', ref: 'o_1' },
      ],
    })
    const settings = {
      scheme: 'gitlab',
      fetch: { baseUrl: api.baseUrl, token: 'glpat-1' },
      effects: ['payment.succeeded'],
      events: { 'merge_request.merged': 'payment.succeeded' },
      read: { order: '/ref' },
    }
    const provider = makeProvider({ settings, secrets: clear })
    const claimed = onlyEvent(provider.readEvents(verified(mergeRequest)))
    expect(claimed.type).toBe('merge_request')
    expect(await provider.confirm?.(claimed, fetch)).toEqual({
      event: {
        id: 'merge_request:15/merge_requests/7:opened:2026-01-02T00:00:00Z',
        type: 'merge_request.opened',
        objectId: '15/merge_requests/7',
        facts: { orderId: 'o_1', occurredAt: '2026-01-02T00:00:00.000Z' },
      },
    })
    expect(api.requests[0]?.headers['private-token']).toBe('glpat-1')
  })

  it('refuses an object that GitLab does not know', async () => {
    await using api = await serveApi({})
    const settings = { scheme: 'gitlab', fetch: { baseUrl: api.baseUrl, token: 'glpat-1' } }
    const provider = makeProvider({ settings, secrets: clear })
    const claimed = onlyEvent(provider.readEvents(verified(mergeRequest)))
    expect(await provider.confirm?.(claimed, fetch)).toEqual({ refused: 'object_unknown' })
  })

  it('never reads a type with an effect from the body alone', () => {
    const settings = { scheme: 'gitlab', fetch: { baseUrl: 'http://127.0.0.1:9', token: 'glpat-1' } }
    const provider = makeProvider({ settings, secrets: clear })
    const claimed = onlyEvent(provider.readEvents(verified({ object_kind: 'payment.succeeded', project_id: 15 })))
    expect(claimed.type).toBe('unknown')
  })
})
