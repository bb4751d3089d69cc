import { invalidBody, unsupportedMediaType } from '@oncehook/kernel/error-codes'
import { parseStrictJson } from '@oncehook/kernel/strict-json'
import type { Context } from 'koa'
import { isJsonInUtf8 } from '../receive/media-type.ts'
import { refuseUnwanted } from './accept.ts'
import { readBodyBy } from './answer-deadline.ts'
import type { OrderContext } from './order-context.ts'

/** Which bodies a route takes. */
export interface BodyRules {
  readonly maxBytes: number
  /** Media types in lower case; without a list, JSON and every `+json` type. */
  readonly types?: readonly string[]
  /** What a refused type is answered with beside the error. */
  readonly refusalHeaders: Readonly<Record<string, string>>
}

/**
 * Refuses what is no JSON in UTF-8, then a caller that takes none, before a byte of the body is read.
 * @throws unsupportedMediaType, notAcceptable
 */
export function refuseMediaTypes(ctx: Context, rules: BodyRules): void {
  refuseBodyType(ctx, rules)
  refuseUnwanted(ctx)
}

function refuseBodyType(ctx: Context, { types, refusalHeaders }: BodyRules): void {
  const coding = ctx.req.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw unsupportedMediaType({}, { headers: { 'Accept-Encoding': 'identity', Connection: 'close' } })
  }
  const type = ctx.req.headers['content-type']
  const named = type?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type !== undefined && isJsonInUtf8(type) && (types === undefined || types.includes(named))) return
  throw unsupportedMediaType({}, { headers: { ...refusalHeaders, Connection: 'close' } })
}

/**
 * The bytes of a body.
 * @throws payloadTooLarge, badRequest, requestTimeout
 */
export function readBytes(ctx: OrderContext, { maxBytes }: BodyRules): Promise<Buffer> {
  return readBodyBy(ctx.req, { maxBytes, endsAt: ctx.state.endsAt })
}

/**
 * Reads bytes as strict JSON; numbers that a double cannot hold exactly are refused, not bent.
 * @throws invalidBody
 */
export function parseBody(rawBody: Buffer): unknown {
  if (rawBody.length === 0) throw invalidBody({ reason: 'empty' }, { says: 'A JSON body is needed' })
  return parseStrictJson(rawBody, { exactNumbers: true })
}
