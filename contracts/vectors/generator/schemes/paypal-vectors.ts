import { constants, createHmac, createPrivateKey, sign } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { PAYPAL_CHAIN } from '@oncehook/webhooks/testing/paypal-chain'
import { bodyCases } from '../cases/body-cases.ts'
import { secretCases } from '../cases/secret-cases.ts'
import { accepted, type Recipe, refused } from '../recipe.ts'
import { BODY, type HeaderLine, NOW, type Vector } from '../vector.ts'
import { PAYPAL_KEYS } from './paypal-keys.ts'

const WEBHOOK = '1JE4291016473214C'
const TRANSMISSION = '103e3700-8b0c-11e6-8695-6b62a8a99ac4'
const CERTIFICATE = 'https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77'
const leaf = createPrivateKey(PAYPAL_KEYS.leaf)
const stranger = createPrivateKey(PAYPAL_KEYS.stranger)

/** A delivery of PayPal's. Each part has its usual value by default. */
interface Sent {
  readonly body?: Buffer
  readonly id?: string
  readonly time?: string
  readonly url?: string
  readonly algorithm?: string
  /** Signed instead of the usual text. */
  readonly text?: string
  /** Instead of the signature. */
  readonly signature?: Buffer | string
}

function timeAt(seconds: number): string {
  return new Date((NOW + seconds) * 1_000).toISOString().replace('.000Z', 'Z')
}

function textOf({ body = BODY, id = TRANSMISSION, time = timeAt(0) }: Sent): string {
  return [id, time, WEBHOOK, crc32(body)].join('|')
}

function linesOf(sent: Sent = {}): HeaderLine[] {
  const { id = TRANSMISSION, time = timeAt(0), url = CERTIFICATE, algorithm = 'SHA256withRSA' } = sent
  const signature = sent.signature ?? sign('sha256', Buffer.from(sent.text ?? textOf(sent)), leaf)
  return [
    ['PAYPAL-TRANSMISSION-SIG', typeof signature === 'string' ? signature : signature.toString('base64')],
    ['PAYPAL-TRANSMISSION-ID', id],
    ['PAYPAL-TRANSMISSION-TIME', time],
    ['PAYPAL-CERT-URL', url],
    ['PAYPAL-AUTH-ALGO', algorithm],
  ]
}

const RECIPE: Recipe = {
  scheme: 'paypal',
  settings: { certificates: [PAYPAL_CHAIN.leaf] },
  secret: WEBHOOK,
  header: 'PAYPAL-TRANSMISSION-SIG',
  encoding: 'base64',
  write: ({ body = BODY }) => linesOf({ body }),
  text: (body) => [body],
  independent: null,
}

/** PayPal with pinned certificates, whose private keys are those of these tests. */
export function paypalVectors(): Vector[] {
  return [
    accepted(RECIPE, 'a pinned certificate'),
    pinned('accepted', 'the second of two pinned certificates', PAYPAL_CHAIN.stranger, PAYPAL_CHAIN.leaf),
    pinned('accepted', 'pinned with its chain behind it', `${PAYPAL_CHAIN.leaf}\n${PAYPAL_CHAIN.intermediate}`),
    pinned('refused', 'the pinned certificate is another', PAYPAL_CHAIN.stranger),
    pinned('refused', 'the pinned certificate has ended', PAYPAL_CHAIN.ended),
    pinned('refused', 'the pinned certificate does not count yet', PAYPAL_CHAIN.early),
    pinned('refused', 'only the issuer is pinned', PAYPAL_CHAIN.intermediate),
    accepted(RECIPE, 'from the sandbox', { headers: linesOf({ url: CERTIFICATE.replace('api', 'api.sandbox') }) }),
    ...headerCases(),
    ...signatureCases(),
    ...textCases(),
    ...timeCases(),
    ...ADDRESSES.map(([why, url]) => sends(`the address of the certificate: ${why}`, { url })),
    ...secretCases(RECIPE),
    ...bodyCases(RECIPE),
  ]
}

function pinned(verdict: Vector['verdict'], why: string, ...certificates: string[]): Vector {
  const delivered = { settings: { certificates } }
  return verdict === 'accepted' ? accepted(RECIPE, why, delivered) : refused(RECIPE, why, delivered)
}

function sends(why: string, sent: Sent): Vector {
  return refused(RECIPE, why, { headers: linesOf(sent) })
}

function headerCases(): Vector[] {
  const lines = linesOf()
  return lines.flatMap(([name, value], at) => [
    accepted(RECIPE, `the header is named ${name.toLowerCase()}`, {
      headers: lines.with(at, [name.toLowerCase(), value]),
    }),
    refused(RECIPE, `no header ${name}`, { headers: lines.toSpliced(at, 1) }),
    refused(RECIPE, `the header ${name} is empty`, { headers: lines.with(at, [name, '']) }),
    refused(RECIPE, `the header ${name} stands twice`, { headers: [...lines, [name, value]] }),
    refused(RECIPE, `the header ${name} stands twice, in another case`, {
      headers: [...lines, [name.toLowerCase(), value]],
    }),
  ])
}

function signatureCases(): Vector[] {
  const text = Buffer.from(textOf({}))
  const right = sign('sha256', text, leaf)
  const base64 = right.toString('base64')
  const flipped = Buffer.from(right)
  flipped[7] = (flipped[7] ?? 0) ^ 4
  const one = Buffer.alloc(right.length)
  one[right.length - 1] = 1
  const written = (why: string, signature: Buffer | string): Vector => sends(`the signature ${why}`, { signature })
  return [
    written('is empty', ''),
    written('is one character short', base64.slice(0, -1)),
    written('is one byte short', right.subarray(0, -1)),
    written('is one byte long', Buffer.concat([right, Buffer.alloc(1)])),
    written('has a zero before it', Buffer.concat([Buffer.alloc(1), right])),
    written('is hexadecimal', right.toString('hex')),
    written('has no padding', base64.replace(/=+$/, '')),
    written('has too much padding', `${base64}=`),
    written('has a blank within', `${base64.slice(0, 10)} ${base64.slice(10)}`),
    written('has one byte that is not ASCII', `\u00e9${base64.slice(1)}`),
    written('is all zeros', Buffer.alloc(right.length)),
    written('is one', one),
    written('has one bit changed', flipped),
    written('stands twice, joined by a comma', `${base64},${base64}`),
    sends('signed with another key', { signature: sign('sha256', text, stranger) }),
    sends('signed with SHA-1', { signature: sign('sha1', text, leaf) }),
    sends('signed with SHA-512', { signature: sign('sha512', text, leaf) }),
    // An empty salt: with any other, every signature would differ.
    sends('signed with PSS', {
      signature: sign('sha256', text, { key: leaf, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 0 }),
    }),
    sends('an HMAC keyed with the webhook id', { signature: createHmac('sha256', WEBHOOK).update(text).digest() }),
    ...['SHA256WithRSA', 'sha256withrsa', 'SHA1withRSA', 'SHA512withRSA', 'none'].map((algorithm) =>
      sends(`the algorithm is called ${algorithm}`, { algorithm }),
    ),
  ]
}

function textCases(): Vector[] {
  const [id, time] = [TRANSMISSION, timeAt(0)]
  const crc = crc32(BODY)
  return [
    sends('signed for another webhook', { text: [id, time, '2JE4291016473214C', crc].join('|') }),
    sends('signed without the webhook', { text: [id, time, crc].join('|') }),
    sends('the CRC is hexadecimal', { text: [id, time, WEBHOOK, crc.toString(16)].join('|') }),
    sends('the CRC is signed as a negative number', { text: [id, time, WEBHOOK, crc - 2 ** 32].join('|') }),
    sends('the body is signed in place of its CRC', { text: [id, time, WEBHOOK, BODY.toString()].join('|') }),
    sends('the body alone is signed', { text: BODY.toString() }),
    sends('the parts are joined by colons', { text: [id, time, WEBHOOK, crc].join(':') }),
    sends('the id was changed', { id: TRANSMISSION.replace('1', '2'), text: textOf({}) }),
    sends('the id has a pipe, and is signed so', { id: `${TRANSMISSION}|x` }),
    sends('the time was changed', { time: timeAt(1), text: textOf({}) }),
  ]
}

function timeCases(): Vector[] {
  const at = (time: string): HeaderLine[] => linesOf({ time })
  return [
    accepted(RECIPE, 'the time has fractions', { headers: at(timeAt(0).replace('Z', '.123Z')) }),
    accepted(RECIPE, 'the time is 301 s ago: a later try', { headers: at(timeAt(-301)) }),
    accepted(RECIPE, 'the time is a day ago: a later try', { headers: at(timeAt(-86_400)) }),
    accepted(RECIPE, 'the time is 30 days ago, the edge of what is sent again', { headers: at(timeAt(-2_592_000)) }),
    accepted(RECIPE, 'the time is 300 s ahead, the edge of the window', { headers: at(timeAt(300)) }),
    sends('the time is 301 s ahead', { time: timeAt(301) }),
    sends('the time is 30 days and a second ago', { time: timeAt(-2_592_001) }),
    sends('the time is ten years ago', { time: timeAt(-315_360_000) }),
    sends('the time is ten years ahead', { time: timeAt(315_360_000) }),
    ...[
      ['is in seconds', String(NOW)],
      ['has no zone', timeAt(0).replace('Z', '')],
      ['has an offset', timeAt(0).replace('Z', '+00:00')],
      ['has a blank for the T', timeAt(0).replace('T', ' ')],
      ['is an HTTP date', new Date(NOW * 1_000).toUTCString()],
      ['is no number', 'now'],
      ['has a month 13', timeAt(0).replace('-10-', '-13-')],
      ['has an hour 25', timeAt(0).replace('T08', 'T25')],
    ].map(([why = '', time = '']) => sends(`the time ${why}, and is signed so`, { time })),
  ]
}

const ADDRESSES: readonly [why: string, url: string][] = [
  ['plain http', CERTIFICATE.replace('https', 'http')],
  ['another host', CERTIFICATE.replace('api.paypal.com', 'example.com')],
  ['a host that begins with the name', CERTIFICATE.replace('api.paypal.com', 'api.paypal.com.example.com')],
  ['a host that ends in the name without a full stop', CERTIFICATE.replace('api.paypal.com', 'notpaypal.com')],
  ['the name as a user', CERTIFICATE.replace('api.paypal.com', 'api.paypal.com@example.com')],
  ['a password', CERTIFICATE.replace('api.paypal.com', 'x:y@api.paypal.com')],
  ['another port', CERTIFICATE.replace('api.paypal.com', 'api.paypal.com:8443')],
  ['another path', CERTIFICATE.replace('notifications', 'else')],
  ['a path that climbs', CERTIFICATE.replace('certs/', 'certs/../')],
  ['a query', `${CERTIFICATE}?x=1`],
  ['a fragment', `${CERTIFICATE}#x`],
  ['a backslash', CERTIFICATE.replace('api.paypal.com/', 'example.com\\.api.paypal.com/')],
  ['an escaped host', CERTIFICATE.replace('paypal', 'paypa%6c')],
  ['a full stop behind the host', CERTIFICATE.replace('.com/', '.com./')],
  ['none', 'certificate'],
  ['a file', 'file:///v1/notifications/certs/CERT-1'],
  ['this machine', CERTIFICATE.replace('api.paypal.com', '127.0.0.1')],
]
