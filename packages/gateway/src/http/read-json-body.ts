import { invalidBody, unsupportedMediaType } from '@oncehook/kernel/error-codes'
import { readRawBody } from '@oncehook/kernel/http/raw-body'
import { parseStrictJson } from '@oncehook/kernel/strict-json'
import type { Context } from 'koa'
import { isJsonInUtf8 } from '../receive/media-type.ts'

/** Headers that tell what a refused media type should have been. */
export type AcceptedTypes = Readonly<Record<string, string>>

/**
 * Reads a JSON body of at most `maxBytes`; numbers that a double cannot hold exactly are refused, not bent.
 * @throws unsupportedMediaType, payloadTooLarge, invalidBody
 */
export async function readJsonBody(ctx: Context, maxBytes: number, accepted: AcceptedTypes): Promise<unknown> {
  const coding = ctx.req.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw unsupportedMediaType({}, { headers: { 'Accept-Encoding': 'identity', Connection: 'close' } })
  }
  const type = ctx.req.headers['content-type']
  if (type === undefined || !isJsonInUtf8(type)) throw unsupportedMediaType({}, { headers: { ...accepted } })
  const rawBody = await readRawBody(ctx.req, maxBytes)
  if (rawBody.length === 0) throw invalidBody({ reason: 'empty' }, { says: 'A JSON body is needed' })
  return parseStrictJson(rawBody, { exactNumbers: true })
}
