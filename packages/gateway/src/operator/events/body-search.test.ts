import { createEncryption } from '@oncehook/kernel/secrets/encryption'
import { Binary, type Db } from 'mongodb'
import { expect, it } from 'vitest'
import { sampleRecord } from '../../testing/sample-record.ts'
import { createBodySearch } from './body-search.ts'

const NO_DATABASE = new Proxy({} as Db, {
  get: () => {
    throw new Error('No database is needed')
  },
})
const source = { db: NO_DATABASE, encryption: createEncryption(() => null) }

/** Whether a text is found in a body. */
function finds(text: string, body: string | Buffer): Promise<boolean> {
  return createBodySearch(source, text).matches(sampleRecord({ raw: new Binary(Buffer.from(body)) }))
}

it.each([
  ['plain', '{"name":"a plain text"}'],
  ['Zoë', '{"name":"Zoë"}'],
  ['Zoë', String.raw`{"name":"Zo\u00eb"}`],
  ['Zoë', String.raw`{"name":"Zo\u00EB"}`],
  ['😀', String.raw`{"name":"\ud83d\ude00"}`],
  ['https://shop.example', String.raw`{"url":"https:\/\/shop.example"}`],
  ['https://café.example', String.raw`{"url":"https:\/\/caf\u00e9.example"}`],
  ['say "hi"', String.raw`{"name":"say \"hi\""}`],
  ['"orderId":"ord_1"', '{"orderId":"ord_1"}'],
  ['Smith & Co', String.raw`{"name":"Smith \u0026 Co"}`],
  ['a b@c.example', 'email=a+b%40c.example&x=1'],
  ['ÿ', Buffer.from([0x00, 0xc3, 0xbf, 0xff])],
])('%s is found in %s', async (text, body) => {
  expect(await finds(text, body)).toBe(true)
})

it.each([
  ['Plain', '{"name":"plain"}'],
  ['plain', '{"name":"plai n"}'],
  ['.*', '{"name":"plain"}'],
  ['x', ''],
])('%s is not found in %s', async (text, body) => {
  expect(await finds(text, body)).toBe(false)
})

it('ignores other content that other software wrote instead of a body', async () => {
  const search = createBodySearch(source, 'text')
  expect(await search.matches(sampleRecord({ raw: 'text' as unknown as Binary }))).toBe(false)
  expect(search.notReadable).toBe(0)
})
