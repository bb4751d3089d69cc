import { createHash, createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { accepted, type Recipe, refused, signatureOf } from '../recipe.ts'
import { BODY, type HeaderLine, type Vector } from '../vector.ts'

/** The address of most of Twilio's vectors, and its query. */
export const TWILIO_URL = 'https://example.com/api/webhooks/twilio'
export const TWILIO_QUERY = 'tenant=a'

/** The form of most of Twilio's vectors. */
export const TWILIO_FORM = Buffer.from('From=%2B15550001111&To=%2B15550002222&MessageSid=SM0001&Body=caf%C3%A9+%26+co')

/** A delivery of Event Streams. */
const EVENTS = Buffer.from(
  JSON.stringify(
    ['EZ0001', 'EZ0002'].map((id) => ({
      ...{ specversion: '1.0', type: 'com.twilio.messaging.message.sent', source: '/2010-04-01/Accounts/AC0001', id },
      ...{ time: '2025-10-09T08:53:20.000Z', data: { messageSid: 'SM0001' } },
    })),
  ),
)

/** The text that Twilio signs for a form: names and values, sorted by name and value, each pair once. */
export function textOfTwilioForm(form: string): string {
  const pairs = [...new URLSearchParams(form)].map(([name, value]) => [name, value] as const)
  const byText = ([name, value]: readonly [string, string], [other, more]: readonly [string, string]): number =>
    name === other ? Number(value > more) - Number(value < more) : Number(name > other) - Number(name < other)
  const sorted = pairs.toSorted(byText)
  const unique = sorted.filter(([name, value], at) => name !== sorted[at - 1]?.[0] || value !== sorted[at - 1]?.[1])
  return unique.map(([name, value]) => `${name}${value}`).join('')
}

interface Sent {
  readonly url?: string
  readonly query?: string
  readonly body?: Buffer
  readonly secret?: string
}

/** A delivery with the signature of this text, even if other data is sent. */
function signedOver(recipe: Recipe, text: string, { url = TWILIO_URL, query = TWILIO_QUERY, body, secret }: Sent = {}) {
  const signature = createHmac('sha1', secret ?? recipe.secret)
    .update(text)
    .digest('base64')
  const headers: HeaderLine[] = [['X-Twilio-Signature', signature]]
  const optional = { ...(body === undefined ? {} : { body }), ...(secret === undefined ? {} : { secret }) }
  return { settings: { publicUrl: url }, headers, query, ...optional }
}

/** Twilio: forms, JSON by its hash, the address with and without its port. */
export function twilioCases(recipe: Recipe): Vector[] {
  return [...publishedCases(recipe), ...addressCases(recipe), ...formCases(recipe), ...jsonCases(recipe)]
}

function publishedCases(recipe: Recipe): Vector[] {
  const settings = { publicUrl: 'https://mycompany.com/myapp.php' }
  return [
    accepted(recipe, 'published: the tests of the Twilio libraries', {
      settings,
      secret: '12345',
      headers: [['X-Twilio-Signature', 'RSOYDt4T1cUTdK1PDd93/VVr8B8=']],
      query: 'foo=1&bar=2',
      body: Buffer.from(
        'CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212',
      ),
    }),
    accepted(recipe, 'published: the tests of the Twilio libraries, a body by its hash', {
      settings,
      secret: '12345',
      headers: [['X-Twilio-Signature', 'a9nBmqA0ju/hNViExpshrM61xv4=']],
      query: 'foo=1&bar=2&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620',
      body: Buffer.from('{"property": "value", "boolean": true}'),
    }),
  ]
}

function addressCases(recipe: Recipe): Vector[] {
  const form = textOfTwilioForm(TWILIO_FORM.toString())
  const text = (address: string): string => `${address}?${TWILIO_QUERY}${form}`
  const withPort = (port: number): string => TWILIO_URL.replace('.com', `.com:${port}`)
  const taken = (why: string, signed: string, url = TWILIO_URL): Vector =>
    accepted(recipe, why, signedOver(recipe, text(signed), { url }))
  const forged = (why: string, signed: string, url = TWILIO_URL): Vector =>
    refused(recipe, why, signedOver(recipe, text(signed), { url }))
  const asked = (why: string, query: string): Vector =>
    refused(recipe, why, signedOver(recipe, text(TWILIO_URL), { query }))
  return [
    taken('the address is signed with the default port', withPort(443)),
    taken('the address is configured with the default port, signed without', TWILIO_URL, withPort(443)),
    taken('plain http, signed with the default port', 'http://example.com:80/t', 'http://example.com/t'),
    taken('another port, configured so', 'https://example.com:8443/t', 'https://example.com:8443/t'),
    forged('another port is signed', withPort(8443)),
    forged('the configured other port is left out of what is signed', TWILIO_URL, withPort(8443)),
    forged('port 80 is signed for https', withPort(80)),
    forged('http is signed for https', TWILIO_URL.replace('https', 'http')),
    forged('another host is signed', TWILIO_URL.replace('example', 'example2')),
    forged('the address is signed with a slash behind it', `${TWILIO_URL}/`),
    forged('the path is signed without the address', '/api/webhooks/twilio'),
    asked('the query was cut off', ''),
    asked('the query was changed', 'tenant=b'),
    asked('a member was added to the query', 'tenant=a&x=1'),
    asked('the query is escaped otherwise', 'tenant=%61'),
    refused(recipe, 'signed without the address', signedOver(recipe, form)),
  ]
}

function formCases(recipe: Recipe): Vector[] {
  const form = TWILIO_FORM.toString()
  const taken = (why: string, body: string): Vector =>
    accepted(
      recipe,
      why,
      signedOver(recipe, `${TWILIO_URL}${textOfTwilioForm(body)}`, { query: '', body: Buffer.from(body) }),
    )
  const changed = (why: string, body: string | Buffer): Vector =>
    refused(recipe, why, { headers: [['X-Twilio-Signature', signatureOf(recipe)]], body: Buffer.from(body) })
  const inOrder = [...new URLSearchParams(form)].flat().join('')
  const over = (why: string, text: string): Vector =>
    refused(recipe, why, signedOver(recipe, `${TWILIO_URL}?${TWILIO_QUERY}${text}`))
  const [ascii = '', behind = ''] = form.split('caf%C3%A9')
  return [
    taken('repeated names, values in order and once each', 'b=2&a=1&b=1&a=1'),
    taken('an empty value and a name without an equals sign', 'c=1&b&a='),
    taken('upper-case names come before lower-case ones', 'a=1&B=1'),
    taken('an empty form', ''),
    accepted(recipe, 'the fields in another order', { body: Buffer.from(form.split('&').reverse().join('&')) }),
    changed('a field was changed', form.replace('1111', '1112')),
    changed('a field was added', `${form}&MediaUrl0=x`),
    changed('a field is missing', form.replace(/&Body=.*/, '')),
    changed('a field stands twice with two values', `${form}&MessageSid=SM0002`),
    changed('escapes in lower case', form.replaceAll('%2B', '%2b')),
    changed('a broken escape', `${form}%`),
    changed('a broken escape of two digits', form.replaceAll('%2B', '%2G')),
    changed('escaped bytes that are not UTF-8', form.replace('%C3%A9', '%E9')),
    changed('bytes that are not UTF-8', Buffer.from(`${ascii}caf\u00e9${behind}`, 'latin1')),
    changed('overlong UTF-8', form.replace('%26', '%C0%A6')),
    changed('a byte-order mark before the form', `\ufeff${form}`),
    changed('a line feed behind the form', `${form}\n`),
    changed('JSON with the same members', JSON.stringify(Object.fromEntries(new URLSearchParams(form)))),
    changed('the form is cut to nothing', ''),
    changed('compressed after it was signed', gzipSync(TWILIO_FORM)),
    changed('raw blanks for plus signs', form.replaceAll('+', ' ')),
    over('signed over the raw form', form),
    over('signed over the form in the order sent', inOrder),
  ]
}

function jsonCases(recipe: Recipe): Vector[] {
  const sha256 = (body: Buffer): string => createHash('sha256').update(body).digest('hex')
  const query = `bodySHA256=${sha256(BODY)}`
  const right = signedOver(recipe, `${TWILIO_URL}?${query}`, { query, body: BODY })
  const overBody = (body: Buffer, before = '') => {
    const target = `${before}bodySHA256=${sha256(body)}`
    return signedOver(recipe, `${TWILIO_URL}?${target}`, { query: target, body })
  }
  const flipped = Buffer.from(BODY)
  flipped[30] = (flipped[30] ?? 0) ^ 1
  const changed = (why: string, body: Buffer): Vector => refused(recipe, `JSON: ${why}`, { ...right, body })
  const asked = (why: string, other: string): Vector =>
    refused(recipe, `JSON: ${why}`, signedOver(recipe, `${TWILIO_URL}?${other}`, { query: other, body: BODY }))
  const moved = `tenant=aBody&${query}&x=From1`
  return [
    accepted(recipe, 'signed as the provider signs JSON', right),
    accepted(recipe, 'JSON: an array of CloudEvents', overBody(EVENTS)),
    accepted(recipe, 'JSON: the hash behind the query of the address', overBody(EVENTS, 'tenant=a&')),
    refused(recipe, 'JSON: an event of the array was changed', {
      ...overBody(EVENTS),
      body: Buffer.from(EVENTS.toString().replace('EZ0002', 'EZ0003')),
    }),
    changed('one bit of the body changed', flipped),
    changed('a line feed behind the body', Buffer.concat([BODY, Buffer.from('\n')])),
    changed('a byte-order mark before the body', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), BODY])),
    changed('the body is cut to nothing', Buffer.alloc(0)),
    refused(recipe, 'JSON: no hash in the query', { ...right, query: '' }),
    refused(recipe, 'JSON: the hash of another body in the query, body and hash agree', {
      ...right,
      query: `bodySHA256=${sha256(flipped)}`,
      body: flipped,
    }),
    asked('the hash is in upper case, and signed so', `bodySHA256=${sha256(BODY).toUpperCase()}`),
    asked('the hash is base64, and signed so', `bodySHA256=${Buffer.from(sha256(BODY), 'hex').toString('base64')}`),
    asked('the hash is empty, and signed so', 'bodySHA256='),
    asked('something stands behind the hash, and is signed so', `${query}&x=From1`),
    asked('the member has another name, and is signed so', query.replace('bodySHA256', 'BodySHA256')),
    asked('the hash came out of a field of a signed form', moved),
  ]
}
