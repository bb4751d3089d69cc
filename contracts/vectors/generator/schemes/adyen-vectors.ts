import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { KEY } from '../keys.ts'
import type { HeaderLine, Vector } from '../vector.ts'
import { NOW } from '../vector.ts'

type Json = Readonly<Record<string, unknown>>

const ITEM: Json = {
  eventCode: 'AUTHORISATION',
  success: 'true',
  eventDate: '2026-01-01T00:00:00+01:00',
  pspReference: '7914073381342284',
  merchantAccountCode: 'TestMerchant',
  merchantReference: 'order_0001',
  amount: { value: 1130, currency: 'EUR' },
  paymentMethod: 'visa',
}

const REFUND: Json = {
  ...ITEM,
  eventCode: 'REFUND',
  pspReference: '7914073381342285',
  originalReference: '7914073381342284',
  amount: { value: 500, currency: 'EUR' },
}

/** The text that Adyen signs for an item: eight properties joined by colons. A missing property is an empty text. */
function textOf(item: Json): string {
  const { value, currency } = (item.amount ?? {}) as Json
  const members = [item.pspReference, item.originalReference, item.merchantAccountCode, item.merchantReference]
  return [...members, value, currency, item.eventCode, item.success].map((one) => String(one ?? '')).join(':')
}

interface Signing {
  readonly key?: Buffer | string
  readonly hash?: string
  readonly text?: string
}

function signatureOf(item: Json, { key = KEY, hash = 'sha256', text = textOf(item) }: Signing = {}): Buffer {
  return createHmac(hash, key).update(text).digest()
}

/** The item with its signature, or with any other value as its signature. */
function sealed(item: Json, signature: unknown = signatureOf(item).toString('base64')): Json {
  return { ...item, additionalData: { hmacSignature: signature } }
}

function bodyOf(...items: readonly (Json | null)[]): string {
  const notificationItems = items.map((item) => ({ NotificationRequestItem: item }))
  return JSON.stringify({ live: 'false', notificationItems })
}

function vector(verdict: Vector['verdict'], why: string, body: string | Buffer): Vector {
  const secret = KEY.toString('hex')
  return { why, verdict, secret, now: NOW, headers: [], body: Buffer.from(body).toString('base64') }
}

const accepted = (why: string, ...items: Json[]): Vector => vector('accepted', why, bodyOf(...items))
const refused = (why: string, ...items: (Json | null)[]): Vector => vector('refused', why, bodyOf(...items))

/** Adyen's payments: every item has a signature, and one bad signature refuses the whole delivery. */
export function adyenVectors(): Vector[] {
  const independent = 'E8U6TS+BMtnUL6ExMAhkKYJJhPUM5eCKXZSaWOSnYdU='
  if (signatureOf(ITEM).toString('base64') !== independent) throw new Error('adyen: not what others have signed')
  return [
    accepted('one item', sealed(ITEM)),
    { ...accepted('the key is in upper case', sealed(ITEM)), secret: KEY.toString('hex').toUpperCase() },
    published(),
    ...acceptedItems(),
    ...secondItems(),
    ...changedItems(),
    ...ambiguousItems(),
    ...signatureCases(),
    ...secretCases(),
    ...bodyCases(),
  ]
}

function published(): Vector {
  const item = {
    pspReference: '7914073381342284',
    originalReference: '',
    merchantAccountCode: 'TestMerchant',
    merchantReference: 'TestPayment-1407325143704',
    amount: { value: 1130, currency: 'EUR' },
    eventCode: 'AUTHORISATION',
    success: 'true',
    eventDate: '2026-01-01T00:00:00+01:00',
  }
  const why = 'published: the tests of the Adyen libraries'
  return {
    ...accepted(why, sealed(item, 'coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=')),
    secret: '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056',
  }
}

function acceptedItems(): Vector[] {
  const six = Array.from({ length: 6 }, (_, at) => sealed({ ...ITEM, pspReference: `791407338134000${at}` }))
  const long = bodyOf(sealed({ ...ITEM, merchantReference: '9007199254740993' }))
  const { amount: _, ...bare } = ITEM
  return [
    accepted('two items', sealed(ITEM), sealed(REFUND)),
    accepted('a refused payment', sealed({ ...ITEM, success: 'false', reason: 'Refused' })),
    accepted('success is a boolean, signed as its text', sealed({ ...ITEM, success: true })),
    accepted('the amount is text of digits', sealed({ ...ITEM, amount: { value: '1130', currency: 'EUR' } })),
    accepted('no amount at all', sealed({ ...bare, eventCode: 'REPORT_AVAILABLE' })),
    accepted('the reference has colons', sealed({ ...ITEM, merchantReference: 'a:b:c' })),
    accepted('a reference that is not ASCII', sealed({ ...ITEM, merchantReference: 'caf\u00e9' })),
    vector('accepted', 'the reference is a number beyond 2^53', long.replace('"9007199254740993"', '9007199254740993')),
    accepted('what is not signed was changed: the payment method', { ...sealed(ITEM), paymentMethod: 'mc' }),
    accepted('six items', ...six),
  ]
}

function secondItems(): Vector[] {
  const second = (why: string, item: Json | null): Vector =>
    refused(`the second item of two: ${why}`, sealed(ITEM), item)
  const [one, other] = [sealed(ITEM), sealed(REFUND)]
  return [
    second('is forged', { ...other, merchantReference: 'order_0002' }),
    second('has no signature', REFUND),
    second('has an empty signature', sealed(REFUND, '')),
    second('is no object', null),
    second('had its amount changed', { ...other, amount: { value: 501, currency: 'EUR' } }),
    second(
      'is signed with another key',
      sealed(REFUND, signatureOf(REFUND, { key: Buffer.alloc(32, 7) }).toString('base64')),
    ),
    refused('the first item of two is forged', { ...one, merchantReference: 'order_0002' }, other),
    refused(
      'the signatures of two items were exchanged',
      { ...one, additionalData: other.additionalData },
      { ...other, additionalData: one.additionalData },
    ),
  ]
}

function changedItems(): Vector[] {
  const item = sealed(ITEM)
  const changes: Json = {
    pspReference: '7914073381342285',
    originalReference: '1',
    merchantAccountCode: 'TestMerchant2',
    merchantReference: 'order_0002',
    eventCode: 'CAPTURE',
    success: 'false',
  }
  const names = [
    'pspReference',
    'merchantAccountCode',
    'merchantReference',
    'eventCode',
    'success',
    'amount',
    'additionalData',
  ]
  const amount = (why: string, changed: Json): Vector => refused(why, { ...item, amount: changed })
  return [
    ...Object.entries(changes).map(([name, value]) => refused(`${name} was changed`, { ...item, [name]: value })),
    ...names.map((name) => refused(`${name} is missing`, without(item, name))),
    amount('the amount was changed', { value: 1131, currency: 'EUR' }),
    amount('the currency was changed', { value: 1130, currency: 'USD' }),
    amount('the currency is missing', { value: 1130 }),
    amount('the amount has decimals', { value: 1130.5, currency: 'EUR' }),
  ]
}

function without(item: Json, name: string): Json {
  return Object.fromEntries(Object.entries(item).filter(([one]) => one !== name))
}

/** Items with another meaning but the same signed text, or in a form that Adyen would not write. */
function ambiguousItems(): Vector[] {
  const moved = { ...ITEM, merchantAccountCode: 'TestMerchant:order_0001', merchantReference: '' }
  return [
    refused('success is upper case, and signed so', sealed({ ...ITEM, success: 'TRUE' })),
    refused('success is missing, and signed so', sealed(without(ITEM, 'success'))),
    refused('the currency is lower case, and signed so', sealed({ ...ITEM, amount: { value: 1130, currency: 'eur' } })),
    refused(
      'the amount has decimals, and is signed so',
      sealed({ ...ITEM, amount: { value: '11.30', currency: 'EUR' } }),
    ),
    refused('a colon moved from the reference into the account', sealed(moved)),
    refused(
      'a colon moved from the original reference into the pspReference',
      sealed({ ...ITEM, pspReference: '7914073381342284:', originalReference: undefined }),
    ),
    refused('the amount holds what stood before it', sealed({ ...ITEM, amount: { value: 'x:1130', currency: 'EUR' } })),
    refused('a member is a list, and signed as its text', sealed({ ...ITEM, pspReference: ['7914073381342284'] })),
  ]
}

function signatureCases(): Vector[] {
  const mac = signatureOf(ITEM)
  const base64 = mac.toString('base64')
  const written = (why: string, signature: unknown): Vector => refused(`the signature ${why}`, sealed(ITEM, signature))
  const signed = (why: string, signing: Signing): Vector =>
    refused(why, sealed(ITEM, signatureOf(ITEM, signing).toString('base64')))
  const header: HeaderLine[] = [['HmacSignature', base64]]
  return [
    written('is empty', ''),
    written('is one character short', base64.slice(0, -1)),
    written('is one byte short', mac.subarray(0, -1).toString('base64')),
    written('is one byte long', Buffer.concat([mac, Buffer.alloc(1)]).toString('base64')),
    written('is only its first half', mac.subarray(0, 16).toString('base64')),
    written('is hexadecimal', mac.toString('hex')),
    written('has no padding', base64.replace('=', '')),
    written('has too much padding', `${base64}=`),
    written('has a blank behind it', `${base64} `),
    written('has a line feed behind it', `${base64}\n`),
    written('is all zeros', Buffer.alloc(32).toString('base64')),
    written('has a character that is not ASCII', `\u00e9${base64.slice(1)}`),
    written('is in the URL-safe alphabet', base64.replaceAll('+', '-').replaceAll('/', '_')),
    written('has unused bits of its last digit set', base64.replace('U=', 'V=')),
    written('is a list', [base64]),
    written('is null', null),
    written('is a number', 1),
    refused('additionalData is a text', { ...ITEM, additionalData: base64 }),
    refused('the signature stands beside additionalData', { ...ITEM, hmacSignature: base64 }),
    { ...refused('the signature is in a header only', ITEM), headers: header },
    signed('signed with another key', { key: Buffer.alloc(32, 7) }),
    signed('signed with the text of the key', { key: KEY.toString('hex') }),
    signed('signed with the empty key', { key: '' }),
    signed('a SHA-1 HMAC', { hash: 'sha1' }),
    signed('a SHA-512 HMAC', { hash: 'sha512' }),
    signed('signed over the whole body', { text: bodyOf(ITEM) }),
  ]
}

function secretCases(): Vector[] {
  const at = (seconds: number): string => new Date((NOW + seconds) * 1_000).toISOString().replace('.000Z', 'Z')
  const ended = (why: string, seconds: number): Vector => ({ ...refused(why, sealed(ITEM)), notAfter: at(seconds) })
  return [
    { ...accepted('the secret is in use until after now', sealed(ITEM)), notAfter: at(1) },
    ended('the secret ended at this very second', 0),
    ended('the secret has ended', -86_400),
  ]
}

function bodyCases(): Vector[] {
  const item = sealed(ITEM)
  const body = bodyOf(item)
  const sent = (why: string, bytes: string | Buffer): Vector => vector('refused', why, bytes)
  const [before = '', behind = ''] = body.split('visa')
  return [
    sent('no items', '{"live":"false","notificationItems":[]}'),
    sent('no list of items', '{"live":"false"}'),
    sent('the items are an object', JSON.stringify({ notificationItems: { NotificationRequestItem: item } })),
    sent('an item without its cover', JSON.stringify({ notificationItems: [item] })),
    sent('the body is empty', ''),
    sent('the body is not JSON', Buffer.from([0x00, 0xff])),
    sent('the body is a list', `[${body}]`),
    sent('the body is cut in its middle', body.slice(0, body.length / 2)),
    sent('a byte-order mark before the body', `\ufeff${body}`),
    sent('invalid UTF-8 in the body', Buffer.from(`${before}vi\u00ff${behind}`, 'latin1')),
    sent('a member stands twice', body.replace('"success":"true"', '"success":"true","success":"true"')),
    sent('compressed', gzipSync(body)),
    sent('nested too deep', `{"a":${'['.repeat(600)}${']'.repeat(600)}}`),
    sent('the last of 250 items has no signature', bodyOf(...Array.from({ length: 249 }, () => item), ITEM)),
  ]
}
