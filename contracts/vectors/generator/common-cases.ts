import { gzipSync } from 'node:zlib'
import {
  accepted,
  BODY,
  type Delivered,
  isTimed,
  joined,
  lenient,
  linesAround,
  macOf,
  NOW,
  type Recipe,
  refused,
  signatureOf,
  signedLines,
  type Vector,
} from './recipe.ts'

/** The vectors that follow from a recipe: the delivery that others have signed too, and every negative class. */
export function commonCases(recipe: Recipe): Vector[] {
  if (signatureOf(recipe) !== recipe.independent) throw new Error(`${recipe.scheme}: not what others have signed`)
  return [
    accepted(recipe, 'signed as the provider signs'),
    ...headerCases(recipe),
    ...signatureCases(recipe),
    ...keyCases(recipe),
    ...timeCases(recipe),
    ...bodyCases(recipe),
  ]
}

/** The signature's header itself: its name in every case, missing, empty, repeated. */
function headerCases(recipe: Recipe): Vector[] {
  const [signature, ...others] = signedLines(recipe)
  if (signature === undefined) throw new Error('A recipe without a header')
  const [name, value] = signature
  const wrong = [name.toUpperCase(), value.replace(/.$/, (last) => (last === '0' ? '1' : '0'))] as const
  return [
    ...[name.toLowerCase(), name.toUpperCase(), mixCase(name)].map((spelt) =>
      accepted(recipe, `the header is named ${spelt}`, { headers: [[spelt, value], ...others] }),
    ),
    refused(recipe, 'no signature header', { headers: others }),
    refused(recipe, 'the signature header is empty', { headers: [[name, ''], ...others] }),
    refused(recipe, 'the signature header stands twice', { headers: [signature, signature, ...others] }),
    refused(recipe, 'the signature header stands twice, once in another case and wrong', {
      headers: [signature, wrong, ...others],
    }),
    ...(recipe.list === undefined && recipe.blankSeparated === undefined && recipe.commaSeparated === undefined
      ? [
          refused(recipe, 'two signature headers were joined by a comma', {
            headers: [[name, `${value}, ${value}`], ...others],
          }),
        ]
      : []),
    ...timeHeaderCases(recipe),
    ...otherLineCases(recipe),
  ]
}

/** The other headers that are signed. */
function otherLineCases(recipe: Recipe): Vector[] {
  const all = signedLines(recipe)
  return (recipe.lines ?? []).flatMap(([name, value]) => {
    const others = all.filter(([one]) => one !== name)
    return [
      refused(recipe, `no header ${name}`, { headers: others }),
      refused(recipe, `the header ${name} is empty`, { headers: [...others, [name, '']] }),
      refused(recipe, `the header ${name} stands twice`, { headers: [...all, [name, value]] }),
      refused(recipe, `the header ${name} stands twice, in another case`, {
        headers: [...all, [name.toUpperCase(), `${value}x`]],
      }),
      refused(recipe, `the header ${name} was changed`, { headers: [...others, [name, `${value}x`]] }),
    ]
  })
}

function timeHeaderCases(recipe: Recipe): Vector[] {
  const { timeHeader } = recipe
  if (timeHeader === undefined) return []
  const [signature] = signedLines(recipe)
  if (signature === undefined) return []
  const { lines = [] } = recipe
  const time = String(NOW)
  return [
    refused(recipe, 'no header of the time', { headers: [signature, ...lines] }),
    refused(recipe, 'only the header of the time', { headers: [[timeHeader, time]] }),
    refused(recipe, 'the header of the time is empty', { headers: [signature, [timeHeader, ''], ...lines] }),
    refused(recipe, 'the header of the time stands twice', {
      headers: [signature, [timeHeader, time], [timeHeader, time], ...lines],
    }),
    refused(recipe, 'the header of the time stands twice, with two times', {
      headers: [signature, [timeHeader, time], [timeHeader.toUpperCase(), String(NOW - 1)], ...lines],
    }),
    refused(recipe, 'the header of the time was changed', {
      headers: linesAround(recipe, signatureOf(recipe), String(NOW + 1)),
    }),
  ]
}

function mixCase(name: string): string {
  return [...name].map((letter, at) => (at % 2 === 0 ? letter.toUpperCase() : letter.toLowerCase())).join('')
}

/** The signature as it is written: too short, too long, in another alphabet, behind another prefix, of another hash. */
function signatureCases(recipe: Recipe): Vector[] {
  const signature = signatureOf(recipe)
  const written = (why: string, text: string, more: Delivered = {}): Vector =>
    refused(recipe, why, { headers: linesAround(recipe, text), ...more })
  const mac = macOf(recipe)
  const flipped = Buffer.from(mac)
  flipped[7] = (flipped[7] ?? 0) ^ 4
  const other = recipe.encoding === 'hex' ? 'base64' : 'hex'
  return [
    written('the signature is empty', ''),
    written('the signature is one character short', signature.replace(/.(=*)$/, '$1')),
    written('the signature is one byte short', mac.subarray(0, -1).toString(recipe.encoding)),
    written('the signature is one character long', `${signature}0`),
    written('the signature is one byte long', Buffer.concat([mac, Buffer.alloc(1)]).toString(recipe.encoding)),
    written('only the first half of the signature', mac.subarray(0, 16).toString(recipe.encoding)),
    written('the signature has one byte that is not ASCII', `\u00e9${signature.slice(1)}`),
    ...(recipe.blankSeparated === true ? [] : [written('a blank stands behind the signature', `${signature} `)]),
    written('a tab stands behind the signature', `${signature}\t`),
    written('the signature has one bit changed', flipped.toString(recipe.encoding)),
    written(`the signature is ${other === 'hex' ? 'hexadecimal' : 'base64'}`, mac.toString(other)),
    ...ALGORITHMS.filter(([, algorithm]) => algorithm !== (recipe.algorithm ?? 'sha256')).map(([name, algorithm]) =>
      written(`the signature is a ${name} HMAC`, signatureOf(recipe, { algorithm })),
    ),
    written('the signature is all zeros', Buffer.alloc(32).toString(recipe.encoding)),
    ...(recipe.encoding === 'hex' ? hexCases(recipe, written) : base64Cases(recipe)),
    ...prefixCases(recipe),
  ]
}

const ALGORITHMS = [
  ['SHA-1', 'sha1'],
  ['SHA-256', 'sha256'],
  ['SHA-512', 'sha512'],
] as const

type Written = (why: string, text: string) => Vector

function hexCases(recipe: Recipe, written: Written): Vector[] {
  const signature = signatureOf(recipe)
  return [
    lenient(recipe, 'the signature is upper-case hexadecimal', {
      headers: linesAround(recipe, signature.toUpperCase()),
    }),
    written('the signature begins with 0x', `0x${signature}`),
    written('the signature has one letter that is no digit', `g${signature.slice(1)}`),
  ]
}

function base64Cases(recipe: Recipe): Vector[] {
  const body = bodyWithBothSymbols(recipe)
  const signature = signatureOf(recipe, { body })
  const written: Written = (why, text) => refused(recipe, why, { headers: linesAround(recipe, text), body })
  const loose: Written = (why, text) => lenient(recipe, why, { headers: linesAround(recipe, text), body })
  // Neither 32 nor 64 bytes fill their last digit.
  const digits = signature.replace(/=+$/, '')
  const last = digits.at(-1) ?? ''
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  return [
    accepted(recipe, 'the signature holds + and /', { headers: linesAround(recipe, signature), body }),
    loose('the signature is in the URL-safe alphabet', signature.replaceAll('+', '-').replaceAll('/', '_')),
    loose('the signature has no padding', signature.replace(/=+$/, '')),
    written('the signature has too much padding', `${signature}=`),
    loose(
      'the signature has no padding and is in the URL-safe alphabet',
      Buffer.from(signature, 'base64').toString('base64url'),
    ),
    written(
      'the last digit of the signature has unused bits set',
      `${digits.slice(0, -1)}${alphabet[alphabet.indexOf(last) + 1]}${signature.slice(digits.length)}`,
    ),
    written('a blank stands within the signature', `${signature.slice(0, 10)} ${signature.slice(10)}`),
  ]
}

/** A body whose signature contains both symbols that differ between the two alphabets of base64. */
function bodyWithBothSymbols(recipe: Recipe): Buffer {
  for (let at = 0; ; at += 1) {
    const body = Buffer.from(JSON.stringify({ ...JSON.parse(BODY.toString()), at }))
    if (/\+.*\/|\/.*\+/.test(signatureOf(recipe, { body }))) return body
  }
}

function prefixCases(recipe: Recipe): Vector[] {
  const { header, prefix, list } = recipe
  const signature = signatureOf(recipe)
  const [, ...others] = linesAround(recipe, signature)
  const written: Written = (why, text) => refused(recipe, why, { headers: [[header, text], ...others] })
  if (list !== undefined) {
    const [line] = linesAround(recipe, signature)
    const value = line?.[1] ?? ''
    return [
      written('the signature has no equals sign', value.replace(`${list.signature}=`, list.signature)),
      written('the time has no equals sign', value.replace(`${list.time}=`, list.time)),
      written('there is no signature', value.split(list.separator)[0] ?? ''),
      written('there is no time', value.split(list.separator).slice(1).join(list.separator)),
      written('there are two times', `${value}${list.separator}${value.split(list.separator)[0]}`),
      written('a blank stands before the signature', value.replace(`${list.signature}=`, `${list.signature}= `)),
      lenient(recipe, 'a blank stands behind the separator', {
        headers: [[header, value.replace(list.separator, `${list.separator} `)], ...others],
      }),
      written('the member of the signature has another name', value.replace(`${list.signature}=`, 'v9=')),
      written(
        'the member of the signature is named in upper case',
        value.replace(`${list.signature}=`, `${list.signature.toUpperCase()}=`),
      ),
      written('another separator', value.replace(list.separator, list.separator === ',' ? ';' : ',')),
    ]
  }
  if (prefix === undefined) {
    return [
      written('a prefix stands where none is', `sha256=${signature}`),
      written('a version stands before the signature', `v1=${signature}`),
    ]
  }
  return [
    ...(recipe.prefixOptional === true
      ? [accepted(recipe, 'the prefix is left out', { headers: [[header, signature], ...others] })]
      : [written('the prefix is missing', signature)]),
    written('the prefix is in upper case', `${prefix.toUpperCase()}${signature}`),
    written('the prefix is another', `v9=${signature}`),
    written('the prefix stands twice', `${prefix}${prefix}${signature}`),
    written('a blank stands behind the prefix', `${prefix} ${signature}`),
    ...(recipe.commaSeparated === true
      ? [accepted(recipe, 'a signature of another key stands before it', twoSignatures(recipe))]
      : [written('two signatures behind one prefix', `${prefix}${signature},${prefix}${signature}`)]),
  ]
}

function twoSignatures(recipe: Recipe): Delivered {
  const other = signatureOf(recipe, { secret: 'another_secret' })
  return { headers: linesAround(recipe, `${other},${recipe.prefix ?? ''}${signatureOf(recipe)}`) }
}

/** The key and what is signed: another secret, one that ended, and texts that other providers would sign. */
function keyCases(recipe: Recipe): Vector[] {
  return [
    ...secretCases(recipe),
    refused(recipe, 'signed with another secret', {
      headers: signedLines(recipe, { secret: 'another_secret' }),
    }),
    ...wrongKeys(recipe).map(([why, key]) => refused(recipe, why, { headers: signedLines(recipe, { key }) })),
    ...foreignTexts(recipe).map(([why, text]) => refused(recipe, why, { headers: signedLines(recipe, { text }) })),
    ...FOREIGN.filter(({ header }) => header !== recipe.header.toLowerCase()).map(({ scheme, header, prefix }) =>
      refused(recipe, `signed as ${scheme} signs`, {
        headers: [[header, `${prefix}${macOf(recipe, { text: [BODY] }).toString('hex')}`]],
      }),
    ),
  ]
}

/** Other keys that an HMAC might use. */
function wrongKeys({ secret, keyOf }: Recipe): [why: string, key: Buffer][] {
  return [
    ['signed with the empty key', Buffer.alloc(0)],
    ...(keyOf === undefined ? [] : [['signed with the text of the secret', Buffer.from(secret)] as [string, Buffer]]),
    ['signed with the secret and a line feed behind it', Buffer.from(`${secret}\n`)],
    ['signed with the secret in upper case', Buffer.from(secret.toUpperCase())],
  ]
}

/** Where other providers put a signature of the body under the same secret. */
const FOREIGN = [
  { scheme: 'GitHub', header: 'x-hub-signature-256', prefix: 'sha256=' },
  { scheme: 'Lemon Squeezy', header: 'x-signature', prefix: '' },
]

function foreignTexts(recipe: Recipe): [why: string, text: (string | Buffer)[]][] {
  const time = String(NOW)
  const own = joined(recipe.text(BODY, time))
  const texts: [why: string, text: (string | Buffer)[]][] = [
    ['signed over the body alone', [BODY]],
    ['signed over time, full stop and body', [`${time}.`, BODY]],
    ['signed over the time and the body, one right after the other', [time, BODY]],
    ['signed over the time, a colon and the body', [`${time}:`, BODY]],
    ['signed over the body before the time', [BODY, time]],
    ...(isTimed(recipe) ? [['signed for another time', recipe.text(BODY, String(NOW - 1))] as [string, Buffer[]]] : []),
    ['signed over the base64 of the text', [own.toString('base64')]],
    ['signed over nothing', ['']],
  ]
  return texts.filter(([, text]) => !joined(text).equals(own))
}

/** The end of a secret: deliveries before it, and from that very second on. */
function secretCases(recipe: Recipe): Vector[] {
  const at = (seconds: number): string => new Date((NOW + seconds) * 1_000).toISOString().replace('.000Z', 'Z')
  return [
    accepted(recipe, 'the secret is in use until after now', { notAfter: at(1) }),
    refused(recipe, 'the secret ended at this very second', { notAfter: at(0) }),
    refused(recipe, 'the secret has ended', { notAfter: at(-86_400) }),
  ]
}

/** The signed time, if there is one: both edges of the window, and signed values that are not times. */
function timeCases(recipe: Recipe): Vector[] {
  if (!isTimed(recipe)) return []
  const away = (seconds: number) => ({ headers: signedLines(recipe, { time: String(NOW + seconds) }) })
  return [
    accepted(recipe, 'the time is 290 s ago', away(-290)),
    ...edgesOfWindow(recipe, 'the time', away),
    refused(recipe, 'the time is a day ago', away(-86_400)),
    refused(recipe, 'the time is ten years ahead', away(315_360_000)),
    refused(recipe, 'the time is 11 s ago and the provider allows 10 s', {
      ...away(-11),
      settings: { ...recipe.settings, toleranceSeconds: 10 },
    }),
    accepted(recipe, 'the time is 3600 s ago and the provider allows 3600 s', {
      ...away(-3_600),
      settings: { ...recipe.settings, toleranceSeconds: 3_600 },
    }),
    ...noTimes().map(([why, time]) =>
      refused(recipe, `the time ${why}, and is signed so`, { headers: signedLines(recipe, { time }) }),
    ),
    ...otherTimes(recipe).map(([why, time]) =>
      lenient(recipe, `the time ${why}, and is signed so`, { headers: signedLines(recipe, { time }) }),
    ),
  ]
}

/** Both edges of the window, inside and outside. `away`: a delivery that is signed this many seconds from now. */
function edgesOfWindow(recipe: Recipe, time: string, away: (seconds: number) => Delivered): Vector[] {
  return [
    accepted(recipe, `${time} is 300 s ago, the edge of the window`, away(-300)),
    accepted(recipe, `${time} is 300 s ahead, the edge of the window`, away(300)),
    refused(recipe, `${time} is 301 s ago`, away(-301)),
    refused(recipe, `${time} is 301 s ahead`, away(301)),
  ]
}

function noTimes(): (readonly [why: string, time: string])[] {
  const time = String(NOW)
  return [
    ['has a plus sign', `+${time}`],
    ['has a minus sign', `-${time}`],
    ['has a decimal point', `${time}.0`],
    ['has an exponent', '1.76e9'],
    ['has a blank before it', ` ${time}`],
    ['has a blank behind it', `${time} `],
    ['is hexadecimal', `0x${Number(time).toString(16)}`],
    ['has letters behind it', `${time}abc`],
    ['is in microseconds', `${time}000000`],
    ['is no number', 'now'],
    ['is empty', ''],
    ['has one digit too few', time.slice(0, -1)],
    ['has a leading zero', `0${time}`],
    ['has an underscore', `${time.slice(0, 4)}_${time.slice(4)}`],
    ['is an ISO 8601 time without a zone', '2025-10-09T08:53:20'],
    ['has digits that are not ASCII', time.replace('1', '\u00b9')],
    ['says NaN', 'NaN'],
    ['says Infinity', 'Infinity'],
  ]
}

/** Times that are valid in another form. */
function otherTimes(recipe: Recipe): (readonly [why: string, time: string])[] {
  return [
    ...(recipe.millisecondsToo === true ? [] : [['is in milliseconds', `${String(NOW)}000`] as const]),
    ['is an ISO 8601 time', '2025-10-09T08:53:20Z'],
    ['is an ISO 8601 time with fractions and an offset', '2025-10-09T10:53:20.123456789+02:00'],
  ]
}

/** The body: its bytes count exactly as they are sent, whatever they are. */
function bodyCases(recipe: Recipe): Vector[] {
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
