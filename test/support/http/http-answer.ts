import { expect } from 'vitest'
import type { RawAnswer } from './raw-http.ts'

/** An answer as a test looks at it. */
export interface HttpAnswer {
  readonly status: number
  /** Header fields by their name in lower case; lines of one name are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The body as JSON; null where there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: received data is inspected, not trusted
  readonly json: any
}

/** Joins the header lines and reads the body. */
export function toHttpAnswer({ status, lines, body }: RawAnswer): HttpAnswer {
  const headers: Record<string, string> = {}
  for (const [name, value] of lines) {
    const key = name.toLowerCase()
    headers[key] = headers[key] === undefined ? value : `${headers[key]}, ${value}`
  }
  const text = body.toString()
  return { status, headers, text, json: text === '' ? null : JSON.parse(text) }
}

// What no caller may see: stack traces, files, messages of the driver, addresses, HTML pages.
const INNER =
  /\bat .+:\d+:\d+|node_modules|\.(?:ts|js):\d|node:internal|mongodb|Mongo|E11000|ECONN|127\.0\.0\.1|<html|TRPC/i
const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Vectors R06 and R08, which hold for every answer: Date, no X-Powered-By, nosniff on bodies, and the one shape of errors:
 * JSON, a sentence, a code, the id of the request, not cacheable, no internals. Returns the answer.
 */
export function expectSound(answer: HttpAnswer): HttpAnswer {
  const { status, headers, text, json } = answer
  if (status < 200) return answer
  expect(Date.parse(headers.date ?? ''), 'R08 Date').not.toBeNaN()
  expect(headers, 'R08').not.toHaveProperty('x-powered-by')
  if (text !== '') expect(headers['x-content-type-options'], 'R08').toBe('nosniff')
  if (status === 204 || status === 304) {
    expect(text).toBe('')
    for (const name of ['content-type', 'content-length', 'transfer-encoding']) expect(headers).not.toHaveProperty(name)
  }
  if (status < 400) return answer
  expect(headers['cache-control'], 'R06').toBe('no-store')
  expect(headers['content-type'], 'R06').toBe(JSON_TYPE)
  expect(Number(headers['content-length']), 'R06').toBeGreaterThan(2)
  if (json !== null) {
    expect(json, 'R06').toMatchObject({
      error: expect.stringMatching(/^[A-Z].*[^.]$/),
      code: expect.stringMatching(/^[a-z]+(?:_[a-z]+)*$/),
      requestId: expect.stringMatching(/^[\w.:-]{8,128}$/),
    })
    expect(headers['x-request-id'], 'R06').toBe(json.requestId)
    expect(text, 'R06').not.toMatch(INNER)
  }
  return answer
}
