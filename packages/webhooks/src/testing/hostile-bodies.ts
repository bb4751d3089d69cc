/** Bodies of exactly or nearly `bytes` that are the most work for a reader, by kind. */
export function hostileBodies(bytes: number): readonly (readonly [what: string, body: Buffer])[] {
  return [
    ['nothing but separators of a form', Buffer.alloc(bytes, '&')],
    ['a form of different names', repeated({ bytes, piece: (n) => `${n.toString(36)}=&` })],
    ['a form of long names', repeated({ bytes, piece: (n) => `${n}${'x'.repeat(58)}=é&` })],
    ['a form of escapes', repeated({ bytes, piece: () => '%41' })],
    ['a form of one name', repeated({ bytes, piece: (n) => `a=${n}&` })],
    ['escapes that are cut', Buffer.alloc(bytes, '%')],
    ['open lists', Buffer.alloc(bytes, '[')],
    ['bytes that are no text', Buffer.alloc(bytes, 0xff)],
    ['text beyond ASCII', repeated({ bytes, open: '{"a":"', piece: () => 'é', close: '"}' })],
    ['JSON of empty objects', repeated({ bytes, open: '{"a":[0', piece: () => ',{}', close: ']}' })],
    ['JSON of different names', repeated({ bytes, open: '{"":0', piece: (n) => `,"${n}":0`, close: '}' })],
    ...PIECES.map(([what, piece, item]): readonly [string, Buffer] => [
      `items of Adyen and ${what}`,
      adyenBody({ bytes, piece, ...(item === undefined ? {} : { item }) }),
    ]),
    [
      '250 items of Adyen, each as long as it can be',
      repeated({
        bytes,
        open: '{"notificationItems":[',
        piece: (n) => `${n === 0 ? '' : ','}${itemOf('x'.repeat(3_900))}`,
        close: ']}',
      }),
    ],
  ]
}

// Behind a number that no double holds, which once had everything read again in the slowest way there is.
const PIECES: readonly (readonly [what: string, piece: AdyenPadding['piece'], item?: string])[] = [
  ['empty objects', ',{}'],
  ['small numbers', ',1'],
  ['empty lists', ',[]'],
  ['large numbers', ',9007199254740993'],
  ['an endless number', `,${'9'.repeat(60_000)}`],
  ['escaped quotes', ',"\\"\\"\\"\\"\\"\\"\\"\\"\\"\\"\\"\\"\\"\\"\\"\\""'],
  ['an endless reference', '', itemOf('x'.repeat(60_000))],
  ['a reference of escapes', '', itemOf('\\u00e9'.repeat(10_000))],
  ['one text of quotes', '', itemOf('\\"'.repeat(30_000))],
  ['deep lists', `,${'['.repeat(400)}${']'.repeat(400)}`],
  ['long texts', `,"${'x'.repeat(16_000)}"`],
  ['as many parts as are parsed', `,{},"${'x'.repeat(18)}"`],
  ['objects of different names', (n) => `,{"${String(n).padStart(10, 'x')}":0}`],
]

function itemOf(reference: string): string {
  const additionalData = `{"hmacSignature":"${'A'.repeat(43)}="}`
  const members = `"pspReference":"1","merchantReference":"${reference}","eventCode":"AUTHORISATION","success":"true"`
  return `{"NotificationRequestItem":{${members},"amount":{"value":1,"currency":"EUR"},"additionalData":${additionalData}}}`
}

interface AdyenPadding {
  readonly bytes: number
  /** What is repeated in a property that nobody reads; the same each time, or by its number. */
  readonly piece: string | ((n: number) => string)
  readonly item?: string
}

/** The number of items that a body of this size needs to be read at all. */
function adyenBody({ bytes, piece, item = itemOf('ord_1') }: AdyenPadding): Buffer {
  const items = Array.from({ length: Math.ceil(bytes / 65_536) }, () => item).join(',')
  const open = `{"notificationItems":[${items}],"x":[9007199254740993`
  if (piece === '') return repeated({ bytes, open: `${open},"`, piece: () => 'x', close: '"]}' })
  return repeated({ bytes, open, piece: typeof piece === 'string' ? () => piece : piece, close: ']}' })
}

interface Repetition {
  readonly bytes: number
  readonly open?: string
  readonly piece: (n: number) => string
  readonly close?: string
}

function repeated({ bytes, open = '', piece, close = '' }: Repetition): Buffer {
  const pieces = [open]
  let length = Buffer.byteLength(open) + Buffer.byteLength(close)
  for (let n = 0; ; n += 1) {
    const next = piece(n)
    length += Buffer.byteLength(next)
    if (length > bytes) break
    pieces.push(next)
  }
  return Buffer.from(pieces.join('') + close)
}
