import { invalidBody, unsupportedMediaType } from '@oncehook/kernel/http/error-codes'
import { refuseEncodedBody } from '@oncehook/kernel/http/server/raw-body'
import { parseStrictJson } from '@oncehook/kernel/http/strict-json'
import type { Context } from 'koa'
import { isJsonInUtf8, mediaTypeOf } from '../../receive/media-type.ts'
import { refuseUnwanted } from '../accept.ts'
import { readBodyBy } from '../answer-deadline.ts'
import type { OrderContext } from './order-context.ts'

/** The bodies that a route accepts. */
export interface BodyRules {
  readonly maxBytes: number
  /** The accepted media types in lower case. Default: JSON and every `+json` type. */
  readonly types?: readonly string[]
  /** The headers of the answer to a rejected type. */
  readonly refusalHeaders: Readonly<Record<string, string>>
}

/**
 * Rejects a body that is not JSON in UTF-8, then a client that does not accept JSON, before a byte of the body is read.
 * @throws unsupportedMediaType, notAcceptable
 */
export function refuseMediaTypes(ctx: Context, rules: BodyRules): void {
  refuseBodyType(ctx, rules)
  refuseUnwanted(ctx)
}

function refuseBodyType(ctx: Context, { types, refusalHeaders }: BodyRules): void {
  refuseEncodedBody(ctx.req)
  const type = ctx.req.headers['content-type']
  if (type !== undefined && isJsonInUtf8(type) && (types === undefined || types.includes(mediaTypeOf(type)))) return
  throw unsupportedMediaType({}, { headers: { ...refusalHeaders, Connection: 'close' } })
}

/**
 * Reads the bytes of a body.
 * @throws payloadTooLarge, badRequest, requestTimeout
 */
export function readBytes(ctx: OrderContext, { maxBytes }: BodyRules): Promise<Buffer> {
  return readBodyBy(ctx.req, { maxBytes, endsAt: ctx.state.endsAt })
}

/**
 * Reads and discards a body that has no meaning for the method (RFC 9110 sections 9.3.1 and 9.3.5). Announced lengths were
 * already checked against the limit.
 * @throws payloadTooLarge, requestTimeout
 */
export async function discardBody({ req, state }: OrderContext, maxBytes: number): Promise<void> {
  if (req.headers['transfer-encoding'] === undefined) return
  await readBodyBy(req, { maxBytes, endsAt: state.endsAt })
}

/**
 * Parses bytes as strict JSON. Numbers that a double cannot represent exactly are rejected, not rounded.
 * @throws invalidBody
 */
export function parseBody(rawBody: Buffer): unknown {
  if (rawBody.length === 0) throw invalidBody({ reason: 'empty' }, { message: 'A JSON body is required' })
  return parseStrictJson(rawBody, { exactNumbers: true })
}
