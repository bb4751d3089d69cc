import { describe, expect, it } from 'vitest'
import { storedHeaders } from './receive-webhook.ts'

const provider = { signedHeaders: ['webhook-id', 'webhook-signature'] }

function delivered(rawHeaders: readonly string[], body = '{}') {
  return { rawHeaders, rawBody: Buffer.from(body), query: '' }
}

describe('storedHeaders', () => {
  it('keeps the signed headers, the type and the agent, by their names in lower case', () => {
    const rawHeaders = [
      'Webhook-ID',
      'msg_1',
      'webhook-signature',
      'v1,x',
      'Content-Type',
      'a/b',
      'USER-AGENT',
      'acme/1',
    ]
    expect(storedHeaders(provider, delivered(rawHeaders))).toEqual({
      ...{ 'webhook-id': 'msg_1', 'webhook-signature': 'v1,x', 'content-type': 'a/b', 'user-agent': 'acme/1' },
    })
  })

  it('keeps nothing else: providers have sent secrets in their own headers', () => {
    const rawHeaders = ['Authorization', 'Bearer x', 'Cookie', 'x', 'X-Api-Key', 'x', 'webhook-id', 'msg_1']
    expect(storedHeaders(provider, delivered(rawHeaders))).toEqual({ 'webhook-id': 'msg_1' })
  })

  it('keeps a plaintext token only as the signature that it makes over the body', () => {
    const withToken = { signedHeaders: ['x-gitlab-token'], staticTokenHeader: 'x-gitlab-token' }
    const keep = (token: string, body: string) => storedHeaders(withToken, delivered(['X-Gitlab-Token', token], body))
    // RFC 4231 section 4.3
    expect(keep('Jefe', 'what do ya want for nothing?')).toEqual({
      'x-gitlab-token': 'hmac-sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    })
    expect(keep('Jefe', '{}')).not.toEqual(keep('Jefe', '{ }'))
  })
})
