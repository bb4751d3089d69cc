import { describe, expect, it } from 'vitest'
import { evidenceOf } from './evidence.ts'

const signed = ['webhook-id', 'webhook-signature']

describe('evidenceOf', () => {
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
    expect(evidenceOf(rawHeaders, signed)).toEqual({
      ...{ 'webhook-id': 'msg_1', 'webhook-signature': 'v1,x', 'content-type': 'a/b', 'user-agent': 'acme/1' },
    })
  })

  it('keeps nothing else: providers have sent secrets in headers of their own', () => {
    const rawHeaders = ['Authorization', 'Bearer x', 'Cookie', 'x', 'X-Api-Key', 'x', 'webhook-id', 'msg_1']
    expect(evidenceOf(rawHeaders, signed)).toEqual({ 'webhook-id': 'msg_1' })
  })

  it('keeps no header that stands twice, and none that is very long', () => {
    expect(evidenceOf(['user-agent', 'a', 'User-Agent', 'b'], signed)).toEqual({})
    expect(evidenceOf(['user-agent', 'x'.repeat(2_049)], signed)).toEqual({})
    expect(evidenceOf(['user-agent', 'x'.repeat(2_048)], signed)).toEqual({ 'user-agent': 'x'.repeat(2_048) })
  })
})
