import { accepted, type Delivered, macOf, type Recipe, refused, signatureOf, signedLines } from '../recipe.ts'
import { BODY, type HeaderLine, NOW, type Vector } from '../vector.ts'

const REQUEST_ID = 'req-0001'

/** What Mercado Pago signs: the id of the query, the id of the request and the time, but not the body. */
export function manifestOf(time: string, id = '123456', requestId = REQUEST_ID): string {
  return `id:${id};request-id:${requestId};ts:${time};`
}

/** Mercado Pago: the id is in the query, and in lower case in the signed text; the time may be in milliseconds. */
export function mercadopagoCases(recipe: Recipe): Vector[] {
  const time = String(NOW)
  const over = (text: string, query = recipe.query, at = time): Delivered => ({
    headers: signedLines(recipe, { text: [text], time: at }),
    ...(query === undefined ? {} : { query }),
  })
  return [
    accepted(
      recipe,
      'signed as the provider signs, in milliseconds',
      over(manifestOf(`${time}000`), undefined, `${time}000`),
    ),
    accepted(recipe, 'the id has letters, in capitals in the query, signed in lower case', {
      ...over(manifestOf(time, 'ord01jq4s4ky8'), 'data.id=ORD01JQ4S4KY8&type=order'),
    }),
    accepted(recipe, 'the body is not signed: it may say anything', {
      body: Buffer.from('{"type":"payment","action":"payment.updated","data":{"id":"999999"}}'),
    }),
    accepted(recipe, 'other members of the query are not signed', { query: 'type=x&data.id=123456&topic=y' }),
    accepted(recipe, 'an unknown member of the header is passed over', {
      headers: [['x-signature', `v2=0,${listOf(recipe)}`], ...(recipe.lines ?? [])],
    }),
    ...queryCases(recipe),
    ...manifestCases(recipe, over),
    refused(
      recipe,
      'the time in milliseconds is 301 s ago',
      over(manifestOf(`${NOW - 301}000`), undefined, `${NOW - 301}000`),
    ),
    refused(
      recipe,
      'the time in milliseconds is 301 s ahead',
      over(manifestOf(`${NOW + 301}000`), undefined, `${NOW + 301}000`),
    ),
    refused(recipe, 'the time was changed from seconds to milliseconds', {
      headers: [['x-signature', `ts=${time}000,v1=${signatureOf(recipe)}`], ...(recipe.lines ?? [])],
    }),
    refused(recipe, 'the signature stands twice in the header', {
      headers: [['x-signature', `${listOf(recipe)},v1=${signatureOf(recipe)}`], ...(recipe.lines ?? [])],
    }),
  ]
}

function listOf(recipe: Recipe): string {
  return signedLines(recipe)[0]?.[1] ?? ''
}

function queryCases(recipe: Recipe): Vector[] {
  const asked = (why: string, query: string): Vector => refused(recipe, why, { query })
  return [
    asked('no query', ''),
    asked('the query has no data.id', 'type=payment'),
    asked('the id stands in the query under its older name', 'id=123456&topic=payment'),
    asked('data.id is empty', 'data.id=&type=payment'),
    asked('data.id stands twice', 'data.id=123456&data.id=123456'),
    asked('data.id stands twice, with another id', 'data.id=123456&data.id=123457'),
    asked('data.id was changed', 'data.id=123457&type=payment'),
    asked('data.id climbs to another place of the API', 'data.id=..%2F123456&type=payment'),
    asked('data.id has a semicolon, as if more were signed', 'data.id=123456%3Brequest-id%3Areq-0001&type=payment'),
    asked('data.id has a blank', 'data.id=123456+&type=payment'),
    asked('data.id is named in capitals', 'DATA.ID=123456&type=payment'),
    asked('data.id has digits that are not ASCII', 'data.id=%D9%A1%D9%A2%D9%A3'),
  ]
}

function manifestCases(recipe: Recipe, over: (text: string, query?: string) => Delivered): Vector[] {
  const time = String(NOW)
  const lines = (requestId: string, text: string): HeaderLine[] => [
    ['x-signature', `ts=${time},v1=${macOf(recipe, { text: [text] }).toString('hex')}`],
    ['x-request-id', requestId],
  ]
  return [
    refused(recipe, 'signed without the last semicolon', over(manifestOf(time).slice(0, -1))),
    refused(recipe, 'signed in another order', over(`request-id:${REQUEST_ID};id:123456;ts:${time};`)),
    refused(recipe, 'signed without the id of the request', over(`id:123456;ts:${time};`)),
    refused(recipe, 'signed without the id', over(`request-id:${REQUEST_ID};ts:${time};`)),
    refused(recipe, 'signed without the time', over(`id:123456;request-id:${REQUEST_ID};`)),
    refused(recipe, 'signed with the id in capitals', over(manifestOf(time, 'ORD01'), 'data.id=ORD01&type=order')),
    refused(recipe, 'signed over the manifest and the body', {
      headers: signedLines(recipe, { text: [manifestOf(time), BODY] }),
    }),
    refused(recipe, 'a semicolon in the id of the request, and signed so', {
      headers: lines('req;ts:1', manifestOf(time, '123456', 'req;ts:1')),
    }),
    refused(recipe, 'a blank in the id of the request, and signed so', {
      headers: lines('req 1', manifestOf(time, '123456', 'req 1')),
    }),
    refused(recipe, 'the signature of another request', { headers: lines('req-0002', manifestOf(time)) }),
  ]
}
