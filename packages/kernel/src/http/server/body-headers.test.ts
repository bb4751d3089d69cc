import { describe, expect, it } from 'vitest'
import { payloadTooLarge, unsupportedMediaType } from '../error-codes.ts'
import { refuseEncodedBody, refuseLargeBody } from './raw-body.ts'

describe('refuseLargeBody', () => {
  it('refuses an announced length above the limit, and closes the connection', () => {
    expect(() => refuseLargeBody({ headers: { 'content-length': '11' } }, 10)).toThrow(
      expect.objectContaining({ code: payloadTooLarge.code, headers: { Connection: 'close' } }),
    )
    expect(() => refuseLargeBody({ headers: { 'content-length': '10' } }, 10)).not.toThrow()
    expect(() => refuseLargeBody({ headers: {} }, 10)).not.toThrow()
  })
})

describe('refuseEncodedBody', () => {
  it('refuses every content coding but identity, and names the one that is accepted', () => {
    expect(() => refuseEncodedBody({ headers: { 'content-encoding': 'gzip' } })).toThrow(
      expect.objectContaining({
        code: unsupportedMediaType.code,
        headers: { 'Accept-Encoding': 'identity', Connection: 'close' },
      }),
    )
    expect(() => refuseEncodedBody({ headers: { 'content-encoding': 'Identity' } })).not.toThrow()
    expect(() => refuseEncodedBody({ headers: {} })).not.toThrow()
  })
})
