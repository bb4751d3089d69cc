import { gzipSync } from 'node:zlib'
import { API, type HeaderLine, NOW, type Vector } from '../vector.ts'

const FORM: readonly HeaderLine[] = [['Content-Type', 'application/x-www-form-urlencoded']]
const ID = 'tr_d0b0E3EA3v'

/** Mollie's classic webhooks: nothing is signed. Only requests that cannot be notifications are refused here. */
export function mollieClassicVectors(): Vector[] {
  return [
    delivery('accepted', 'published: docs.mollie.com, an example of a call', `id=${ID}`),
    delivery('accepted', 'an order of the older Orders API', 'id=ord_8wmqcHMN4U'),
    delivery('accepted', 'other fields beside the id', `id=${ID}&subscriptionId=sub_1&testByMollie=1`),
    delivery('accepted', 'the id is escaped', 'id=tr%5Fd0b0E3EA3v'),
    {
      ...delivery('accepted', 'a signature that nobody asked for', `id=${ID}`),
      headers: [...FORM, ['X-Mollie-Signature', 'sha256=00']],
    },
    { ...delivery('accepted', 'no Content-Type', `id=${ID}`), headers: [] },
    ...REFUSED.map(([why, body]) => delivery('refused', why, body)),
  ]
}

type Verdict = Vector['verdict']

function delivery(verdict: Verdict, why: string, body: string | Buffer): Vector {
  return {
    why,
    verdict,
    settings: API,
    secret: '',
    now: NOW,
    headers: FORM,
    body: Buffer.from(body).toString('base64'),
  }
}

const REFUSED: readonly [why: string, body: string | Buffer][] = [
  ['the body is empty', ''],
  ['no id', 'payment=1'],
  ['the id is empty', 'id='],
  ['the id has no equals sign', 'id'],
  ['the id stands twice', `id=${ID}&id=${ID}`],
  ['the id stands twice, with another payment', `id=${ID}&id=tr_2`],
  ['the id stands twice, once escaped', `id=${ID}&%69d=tr_2`],
  ['another field stands twice', `id=${ID}&x=1&x=2`],
  ['the name of the id is in capitals', `ID=${ID}`],
  ['a blank before the name', ` id=${ID}`],
  ['a blank behind the id', `id=${ID}+`],
  ['a line feed behind the id', `id=${ID}\n`],
  ['a list of ids', `id[]=${ID}`],
  ['no kind before the id', 'id=d0b0E3EA3v'],
  ['nothing behind the kind', 'id=tr_'],
  ['a kind in capitals', 'id=TR_d0b0E3EA3v'],
  ['a customer', 'id=cst_8wmqcHMN4U'],
  ['a refund, which Mollie calls by its payment', 'id=re_4qqhO89gsT'],
  ['a kind that objects of JavaScript inherit', 'id=constructor_1'],
  ['the id climbs to another place of the API', `id=tr_1%2F..%2F..%2Fcustomers`],
  ['the id climbs, escaped twice', 'id=tr_1%252F..'],
  ['the id brings a query of its own', `id=${ID}%3Ftestmode%3Dtrue`],
  ['the id brings a fragment', `id=${ID}%23`],
  ['the id is an address', 'id=https%3A%2F%2Fexample.com%2Ftr_1'],
  ['the id has a NUL', `id=${ID}%00`],
  ['the id is not ASCII', 'id=tr_%C3%A9'],
  ['the id has 65 characters behind its kind', `id=tr_${'a'.repeat(65)}`],
  ['a broken escape', `id=${ID}%`],
  ['an escape that is not UTF-8', `id=${ID}&x=%FF`],
  ['bytes that are not UTF-8', Buffer.concat([Buffer.from(`id=${ID}&x=`), Buffer.from([0xff])])],
  ['a byte-order mark before the form', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(`id=${ID}`)])],
  ['JSON with the id', `{"id":"${ID}"}`],
  ['the text of the id alone', ID],
  ['compressed', gzipSync(`id=${ID}`)],
  ['UTF-16', Buffer.from(`id=${ID}`, 'utf16le')],
  ['a next-gen event', '{"resource":"event","id":"event_1","type":"payment.paid","entityId":"tr_1"}'],
]
