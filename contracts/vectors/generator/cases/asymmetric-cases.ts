import { createHmac } from 'node:crypto'
import { type EcdsaSigner, malleableEd25519, signEd25519 } from '../keys.ts'
import { accepted, linesAround, macOf, type Recipe, refused, signedLines } from '../recipe.ts'
import { BODY, NOW, type Vector } from '../vector.ts'

/** Discord: both pings, and the cases that only Ed25519 has. */
export function discordCases(recipe: Recipe): Vector[] {
  const interaction = Buffer.from('{"application_id":"1","id":"2","token":"t","type":1,"user":{"id":"3"},"version":1}')
  const ping = Buffer.from('{"version":1,"application_id":"1","type":0}')
  const written = (why: string, signature: Buffer): Vector =>
    refused(recipe, why, { headers: linesAround(recipe, signature.toString('hex')) })
  const text = Buffer.concat([Buffer.from(String(NOW)), BODY])
  const key = Buffer.from(recipe.secret, 'hex')
  return [
    accepted(recipe, 'the public key is in upper case', { secret: recipe.secret.toUpperCase() }),
    accepted(recipe, 'a ping of interactions', {
      headers: signedLines(recipe, { body: interaction }),
      body: interaction,
    }),
    accepted(recipe, 'a ping of events', { headers: signedLines(recipe, { body: ping }), body: ping }),
    refused(recipe, 'a ping with a wrong signature, as Discord probes', { body: interaction }),
    refused(recipe, 'a digit moved from the time to the body', {
      headers: linesAround(recipe, macOf(recipe).toString('hex'), String(NOW).slice(0, -1)),
      body: Buffer.concat([Buffer.from('0'), BODY]),
    }),
    written('an HMAC keyed with the bytes of the public key', createHmac('sha256', key).update(text).digest()),
    written('an HMAC of 64 bytes keyed with the public key', createHmac('sha512', key).update(text).digest()),
    written(
      'the other signature with the same meaning (S beyond the order of the group)',
      malleableEd25519(signEd25519(text, recipe.secret)),
    ),
  ]
}

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** SendGrid: the example of its libraries, and every kind of invalid DER signature. */
export function sendgridCases(recipe: Recipe, signer: EcdsaSigner): Vector[] {
  const text = Buffer.concat([Buffer.from(String(NOW)), BODY])
  const der = signer.sign(text, recipe.secret)
  const { r, s } = readDer(der)
  const written = (why: string, signature: Buffer): Vector =>
    refused(recipe, why, { headers: linesAround(recipe, signature.toString('base64')) })
  return [
    accepted(recipe, 'published: the tests of the SendGrid libraries', PUBLISHED),
    refused(recipe, 'published: without its line end', { ...PUBLISHED, body: PUBLISHED.body.subarray(0, -2) }),
    written('r and s without DER', Buffer.concat([r, s].map((number) => toBytes(number, 32)))),
    written('r and s exchanged', writeDer(s, r)),
    written('r and s are zero', writeDer(0n, 0n)),
    written('r and s are one', writeDer(1n, 1n)),
    written('r is zero', writeDer(0n, s)),
    written('s beyond the order of the group', writeDer(r, s + ORDER)),
    written('s is negative', Buffer.concat([writeDer(r, 0n).subarray(0, -3), negative(s)])),
    written('the length of the DER in long form', Buffer.concat([Buffer.from([0x30, 0x81]), der.subarray(1)])),
    written('something behind the DER', Buffer.concat([der, Buffer.from([5, 0])])),
    written('no DER at all', Buffer.from([0x30, 0])),
    written('signed with SHA-512', signer.sign(text, recipe.secret, 'sha512')),
    written('signed with SHA-1', signer.sign(text, recipe.secret, 'sha1')),
    refused(recipe, 'a digit moved from the time to the body', {
      headers: linesAround(recipe, der.toString('base64'), String(NOW).slice(0, -1)),
      body: Buffer.concat([Buffer.from('0'), BODY]),
    }),
  ]
}

const PUBLISHED = {
  secret:
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
  now: 1_600_112_502,
  headers: [
    [
      'X-Twilio-Email-Event-Webhook-Signature',
      'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=',
    ],
    ['X-Twilio-Email-Event-Webhook-Timestamp', '1600112502'],
  ] as const,
  body: Buffer.from(
    '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n',
  ),
}

function readDer(der: Buffer): { r: bigint; s: bigint } {
  const length = der[3] ?? 0
  const number = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`)
  return { r: number(der.subarray(4, 4 + length)), s: number(der.subarray(6 + length)) }
}

function toBytes(number: bigint, length: number): Buffer {
  return Buffer.from(number.toString(16).padStart(length * 2, '0'), 'hex')
}

function integer(number: bigint): Buffer {
  const hex = number.toString(16)
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
  const positive = (bytes[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes
  return Buffer.concat([Buffer.from([2, positive.length]), positive])
}

function writeDer(r: bigint, s: bigint): Buffer {
  const numbers = Buffer.concat([integer(r), integer(s)])
  return Buffer.concat([Buffer.from([0x30, numbers.length]), numbers])
}

/** A negative number: the bytes of a number whose first bit is set, without the leading zero byte. */
function negative(number: bigint): Buffer {
  const bytes = toBytes(number, 32)
  bytes[0] = (bytes[0] ?? 0) | 0x80
  return Buffer.concat([Buffer.from([2, bytes.length]), bytes])
}
