import { describe, expect, it } from 'vitest'
import { readAnswer } from './read-answer.ts'

const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\r\n{"received":true}'

describe('readAnswer', () => {
  it('waits until every byte of the answer is there', () => {
    const bytes = Buffer.from(ok)
    for (let length = 0; length < bytes.length; length += 1) expect(readAnswer(bytes.subarray(0, length))).toBeNull()
    expect(readAnswer(bytes)).toEqual({ status: 200, bytes: bytes.length, last: false })
  })

  it('sees that the server closes the connection', () => {
    const closing = 'HTTP/1.1 413 Payload Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'
    expect(readAnswer(Buffer.from(closing))).toMatchObject({ status: 413, last: true })
  })

  it('refuses an answer whose end it cannot find', () => {
    const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
    expect(() => readAnswer(Buffer.from(chunked))).toThrow('no Content-Length')
  })
})
