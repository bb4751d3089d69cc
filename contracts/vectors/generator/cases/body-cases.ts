import { gzipSync } from 'node:zlib'
import { accepted, type Recipe, refused, signedLines } from '../recipe.ts'
import { BODY, type Vector } from '../vector.ts'

/** The body: its bytes count exactly as they are sent, whatever they are. */
export function bodyCases(recipe: Recipe): Vector[] {
  if (recipe.ownBody === true) return []
  const signed = (why: string, body: Buffer): Vector =>
    accepted(recipe, why, { headers: signedLines(recipe, { body }), body })
  const changed = (why: string, body: Buffer, from = BODY): Vector =>
    refused(recipe, why, { headers: signedLines(recipe, { body: from }), body })
  const odd = Buffer.from('{ "b" : 1.0,\t"a":"\\u00e9\\/" }\r\n')
  const ended = Buffer.concat([BODY, Buffer.from('\n')])
  const flipped = Buffer.from(BODY)
  flipped[30] = (flipped[30] ?? 0) ^ 1
  return [
    signed('the body is empty, and signed so', Buffer.alloc(0)),
    signed('the body is not JSON, and signed so', Buffer.from([0x00, 0xff, 0x0a, 0x80])),
    signed('the body has odd white space, order and escapes, signed as sent', odd),
    changed('the body has one bit changed', flipped),
    changed('a byte-order mark was put before the body', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), BODY])),
    changed('a line feed was put behind the body', ended),
    changed('the line end behind the body was changed to CRLF', Buffer.concat([BODY, Buffer.from('\r\n')]), ended),
    changed('the body was written anew from its JSON', Buffer.from(JSON.stringify(JSON.parse(odd.toString()))), odd),
    changed('the body is other invalid UTF-8 that decodes alike', INVALID.two, INVALID.one),
    changed('the body was decoded and encoded again', Buffer.from(INVALID.one.toString()), INVALID.one),
    changed('the body was compressed after it was signed', gzipSync(BODY)),
    changed('the body is cut to nothing', Buffer.alloc(0)),
    changed('the last byte of the body is missing', BODY.subarray(0, -1)),
    changed('the body is that of another event', Buffer.from(BODY.toString().replace('pay_0001', 'pay_0002'))),
  ]
}

const INVALID = {
  one: Buffer.concat([Buffer.from('{"note":"'), Buffer.from([0xff]), Buffer.from('"}')]),
  two: Buffer.concat([Buffer.from('{"note":"'), Buffer.from([0xfe]), Buffer.from('"}')]),
}
