import { MongoBulkWriteError, MongoServerError } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { invalidBody, unavailable } from '../http/error-codes.ts'
import { Secret } from '../secrets/secret.ts'
import { memoryLogger } from '../testing/memory-logger.ts'
import { createLogger, describeError } from './logger.ts'

const CANARY = 'canary-5f1c0b9e77aa4d1f'

/** A duplicate key error as thrown by the driver: its message and properties contain the value. */
function duplicateKey(): MongoServerError {
  return new MongoServerError({
    message: `E11000 duplicate key error collection: d.c index: by_id dup key: { id: "${CANARY}" }`,
    code: 11_000,
    keyPattern: { id: 1 },
    keyValue: { id: CANARY },
  })
}

function thrownBy(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('Nothing was thrown')
}

const LEAKY: [string, unknown][] = [
  ['a duplicate key', duplicateKey()],
  ['a bulk write', new MongoBulkWriteError({ message: CANARY, code: 11_000 }, {} as never)],
  ['a JSON parser', thrownBy(() => JSON.parse(`{"${CANARY}": nothing}`))],
  ['a URL parser', thrownBy(() => new URL(`http://u:${CANARY}@[`))],
  ['a schema', thrownBy(() => z.literal(CANARY).parse('x'))],
  ['a message of several lines', new Error(`first\n    at ${CANARY} (file:///app/${CANARY}.ts:1:1)\n    at last`)],
  ['an error of several', new AggregateError([new Error(CANARY)], CANARY)],
  ['a chain', new Error('outer', { cause: new Error(CANARY, { cause: CANARY }) })],
  ['a refusal caused by the driver', unavailable({}, { cause: duplicateKey() })],
  ['a code that is no code', Object.assign(new Error('odd'), { code: { value: CANARY } })],
  ['a code that is a sentence', Object.assign(new Error('odd'), { code: `lost at ${CANARY}` })],
  ['a text', CANARY],
  ['an object', { CANARY, value: CANARY }],
  ['nothing', null],
]

describe('createLogger', () => {
  it('writes one JSON line for one call, however many lines its values have', () => {
    const written: string[] = []
    const destination = { write: (line: string) => void written.push(line) }
    const logger = createLogger({ service: 'gateway', level: 'info', destination })
    logger.info({ note: 'a\nb\r\n\u2028c' }, 'webhook.recorded')
    logger.error({ error: new Error('a\nb') }, 'event.failed')
    expect(written).toHaveLength(2)
    for (const line of written) expect(line).toMatch(/^\{[^\n\r]*\}\n$/)
    expect(JSON.parse(written[0] ?? '')).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      service: 'gateway',
      note: 'a\nb\r\n\u2028c',
      msg: 'webhook.recorded',
    })
  })

  it.each(['authorization', 'cookie', 'secret', 'token', 'password', 'signature', 'body', 'raw', 'uri', 'headers'])(
    'redacts the field %s, also on children and in the details of an error',
    (field) => {
      const { logger, lines } = memoryLogger()
      logger.info({ [field]: CANARY, kept: 1 }, 'request.completed')
      logger.warn({ error: invalidBody({ [field]: CANARY, kept: 1 }) }, 'request.completed')
      logger.child({ [field]: CANARY }).info({ kept: 1 }, 'request.completed')
      expect(JSON.stringify(lines)).not.toContain(CANARY)
      expect(lines[0]).toMatchObject({ [field]: '[redacted]', kept: 1 })
      expect(lines[1]).toMatchObject({ error: { [field]: '[redacted]', kept: 1 } })
    },
  )

  it('shows no secret object', () => {
    const { logger, lines } = memoryLogger()
    logger.info({ key: new Secret(CANARY), list: [{ key: new Secret(CANARY) }] }, 'service.started')
    expect(lines[0]).toMatchObject({ key: '[secret]', list: [{ key: '[secret]' }] })
  })

  it.each(LEAKY)('prints nothing of the message or the values of %s, under any name', (_what, thrown) => {
    const { logger, lines } = memoryLogger()
    logger.error({ error: thrown }, 'event.failed')
    logger.error({ err: thrown }, 'event.failed')
    logger.error({ error: thrown })
    logger.error({ err: thrown })
    if (thrown instanceof Error) logger.error(thrown)
    if (thrown instanceof Error) logger.error(thrown, 'event.failed')
    expect(lines.length).toBeGreaterThanOrEqual(4)
    expect(JSON.stringify(lines)).not.toContain('canary')
  })
})

describe('describeError', () => {
  it('prints the message and the details of our errors', () => {
    expect(describeError(invalidBody({ reason: 'depth' }, { message: 'The body is nested too deeply' }))).toEqual({
      name: 'AppError',
      code: 'invalid_body',
      message: 'The body is nested too deeply',
      reason: 'depth',
    })
  })

  it("prints name, code and places of the driver's errors", () => {
    const described = describeError(duplicateKey())
    expect(described).toMatchObject({ name: 'MongoServerError', code: 11_000 })
    expect(described.message).toBeUndefined()
    expect(String((described.at as string[])[0])).toContain('packages/kernel/src/log/logger.test.ts:')
  })
})
