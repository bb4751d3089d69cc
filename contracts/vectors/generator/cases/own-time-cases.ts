import { accepted, type Delivered, linesAround, type Recipe, refused, signatureOf, signedLines } from '../recipe.ts'
import { BODY, type HeaderLine, NOW, type Vector } from '../vector.ts'
import { edgesOfWindow } from './time-cases.ts'

/** Cashfree writes its times in milliseconds. */
export function cashfreeCases(recipe: Recipe): Vector[] {
  const away = (seconds: number) => ({ headers: signedLines(recipe, { time: String((NOW + seconds) * 1_000) }) })
  return [
    accepted(recipe, 'signed as the provider signs, in milliseconds', away(0)),
    ...edgesOfWindow(recipe, 'the time in milliseconds', away),
    refused(recipe, 'the time has eleven digits, and is signed so', {
      headers: signedLines(recipe, { time: `${NOW}0` }),
    }),
    refused(recipe, 'the time has twelve digits, and is signed so', {
      headers: signedLines(recipe, { time: `${NOW}00` }),
    }),
    refused(recipe, 'the time was changed from seconds to milliseconds', {
      headers: linesAround(recipe, signatureOf(recipe), `${NOW}000`),
    }),
    refused(recipe, 'the end of a time in milliseconds was put before the body', {
      headers: linesAround(recipe, signatureOf(recipe, { time: `${NOW}078` })),
      body: Buffer.concat([Buffer.from('078'), BODY]),
    }),
    refused(recipe, 'the body begins with digits, which could belong to the time, and is signed so', {
      headers: linesAround(recipe, signatureOf(recipe, { body: Buffer.from('078') })),
      body: Buffer.from('078'),
    }),
    refused(recipe, 'the body begins with the end of the time', {
      headers: linesAround(recipe, signatureOf(recipe, { time: `${NOW}000`, body: BODY })),
      body: Buffer.concat([Buffer.from('00'), BODY]),
    }),
  ]
}

/** Paddle: the vectors of its library, and the exchange of a secret, whose two signatures come in any order. */
export function paddleCases(recipe: Recipe): Vector[] {
  const right = signatureOf(recipe)
  const wrong = signatureOf(recipe, { secret: 'another_secret' })
  const list = (...members: string[]): Delivered => ({
    headers: [['Paddle-Signature', [`ts=${NOW}`, ...members].join(';')]],
  })
  const others = (count: number): string[] => Array<string>(count).fill(`h1=${wrong}`)
  const published = { secret: 'VALID_SECRET', now: 1_698_796_800 }
  return [
    accepted(recipe, 'published: the tests of the Paddle library', {
      ...published,
      headers: [
        ['Paddle-Signature', 'ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9'],
      ],
      body: Buffer.from('{"data": ["1", "2"]}'),
    }),
    accepted(recipe, 'published: the tests of the Paddle library, several hashes', {
      ...published,
      headers: [
        [
          'Paddle-Signature',
          'ts=1698796800;h1=28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261;h1=28981e941fae76e53db32f3d2a83cb69db41476595e84e1970a1b5d98f62b261;h2=RANDOM_HASH',
        ],
      ],
      body: Buffer.from('{"data": "value"}'),
    }),
    accepted(recipe, 'two signatures, the first one right', list(`h1=${right}`, `h1=${wrong}`)),
    accepted(recipe, 'two signatures, the last one right', list(`h1=${wrong}`, `h1=${right}`)),
    accepted(recipe, 'an unknown member is passed over', list(`h2=${wrong}`, `h1=${right}`, 'x')),
    accepted(recipe, 'a signature that is none is passed over', list('h1=', 'h1=zz', `h1=${right}`)),
    accepted(recipe, 'the right signature is the eighth', list(...others(7), `h1=${right}`)),
    refused(recipe, 'the right signature is the ninth: eight are looked at', list(...others(8), `h1=${right}`)),
    refused(recipe, 'two signatures, none of them right', list(...others(2))),
    refused(recipe, 'the right signature as h2', list(`h2=${right}`)),
    accepted(recipe, 'the time stands behind the signature', {
      headers: [['Paddle-Signature', `h1=${right};ts=${NOW}`]],
    }),
  ]
}

/** Stripe: lists of several signatures, as during the rotation of a secret. */
export function stripeCases(recipe: Recipe): Vector[] {
  const right = `v1=${signatureOf(recipe)}`
  const wrong = `v1=${signatureOf(recipe, { secret: 'another_secret' })}`
  const list = (...members: string[]): Delivered => ({
    headers: [['Stripe-Signature', [`t=${NOW}`, ...members].join(',')]],
  })
  const others = (count: number): string[] => Array<string>(count).fill(wrong)
  return [
    accepted(recipe, 'several signatures, the last one right', list(wrong, `v1=${'0'.repeat(64)}`, right)),
    accepted(recipe, 'the right signature is the eighth', list(...others(7), right)),
    refused(recipe, 'the right signature is the ninth: eight are looked at', list(...others(8), right)),
    accepted(recipe, 'a v0 and an unknown member are passed over', list(wrong.replace('v1', 'v0'), 'v2=x', right)),
    accepted(recipe, 'the time stands behind the signature', { headers: [['Stripe-Signature', `${right},t=${NOW}`]] }),
    refused(recipe, 'two deliveries are joined in one header, so there are two times', list(right, `t=${NOW}`, right)),
    refused(recipe, 'the signature only as v0', list(right.replace('v1', 'v0'))),
    refused(recipe, 'signed with the secret without its prefix', {
      headers: signedLines(recipe, { key: Buffer.from(recipe.secret.replace('whsec_', '')) }),
    }),
  ]
}

/** Slack: the example of its documentation, which is a form, and its two handshakes. */
export function slackCases(recipe: Recipe): Vector[] {
  return [
    accepted(recipe, 'published: docs.slack.dev, verifying requests from Slack', {
      secret: '8f742231b10e8888abcd99yyyzzz85a5',
      now: 1_531_420_618,
      headers: [
        ['X-Slack-Signature', 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503'],
        ['X-Slack-Request-Timestamp', '1531420618'],
      ],
      body: Buffer.from(
        'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
      ),
    }),
    ...handshakes(recipe, {
      'the check of the address':
        '{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}',
      'the check of the certificate': 'token=x&ssl_check=1',
    }),
  ]
}

/** Zoom: its check of the address. */
export function zoomCases(recipe: Recipe): Vector[] {
  return handshakes(recipe, {
    'the check of the address':
      '{"event":"endpoint.url_validation","payload":{"plainToken":"plain_token_0001"},"event_ts":1760000000000}',
  })
}

function handshakes(recipe: Recipe, bodies: Readonly<Record<string, string>>): Vector[] {
  return Object.entries(bodies).flatMap(([name, text]) => {
    const body = Buffer.from(text)
    return [
      accepted(recipe, `${name}, signed`, { headers: signedLines(recipe, { body }), body }),
      refused(recipe, `${name}, not signed`, { headers: [], body }),
      refused(recipe, `${name}, signed with another secret`, {
        headers: signedLines(recipe, { body, secret: 'another_secret' }),
        body,
      }),
      refused(recipe, `${name}, under the signature of an event`, { body }),
    ]
  })
}

const COVERED = 'content-type x-event-id x-event-type'
const SENT: readonly HeaderLine[] = [
  ['Content-Type', 'application/json'],
  ['X-Event-Id', '1a01cb48-5142-4d9b-8f90-d20cca61f0ee'],
  ['X-Event-Type', 'payment.succeeded'],
]
const V1 = '7ad19302545962b7b4891bd2506fe203e6d45d9c6c6675446e6894949e90221d'

/** Hook0: the vectors of its worker and its clients, and the cases of the newer version only, which signs headers. */
export function hook0Cases(recipe: Recipe): Vector[] {
  const v0 = signatureOf(recipe)
  const signed = (value: string, sent = SENT): Delivered => ({ headers: [...sent, ['X-Hook0-Signature', value]] })
  const value = `t=${NOW},h=${COVERED},v1=${V1}`
  return [
    accepted(recipe, 'signed as the provider signs, with headers', signed(value)),
    accepted(recipe, 'both versions, as the provider offers them', signed(`t=${NOW},v0=${v0},h=${COVERED},v1=${V1}`)),
    ...publishedByHook0(recipe),
    ...SENT.flatMap(([name, text], at) => [
      refused(recipe, `${name} is covered and missing`, signed(value, SENT.toSpliced(at, 1))),
      refused(recipe, `${name} is covered and stands twice`, signed(value, [...SENT, [name, text]])),
      refused(recipe, `${name} is covered and was changed`, signed(value, SENT.with(at, [name, `${text}x`]))),
    ]),
    accepted(recipe, 'names of covered headers are sent in another case', {
      headers: [...SENT.map(([name, text]): HeaderLine => [name.toUpperCase(), text]), ['x-hook0-signature', value]],
    }),
    refused(
      recipe,
      'the covered headers are named in another order',
      signed(value.replace(COVERED, 'x-event-id content-type x-event-type')),
    ),
    refused(
      recipe,
      'the covered headers are named in upper case',
      signed(value.replace(COVERED, COVERED.toUpperCase())),
    ),
    refused(
      recipe,
      'the covered headers are separated by two blanks',
      signed(value.replace(COVERED, COVERED.replace(' ', '  '))),
    ),
    refused(recipe, 'no header is covered', signed(`t=${NOW},h=,v1=${v0}`)),
    refused(recipe, 'v1 without the names of the headers', signed(`t=${NOW},v1=${V1}`)),
    refused(recipe, 'v1 under the signature of v0', signed(`t=${NOW},h=${COVERED},v1=${v0}`)),
    refused(recipe, 'v0 under the signature of v1', signed(`t=${NOW},v0=${V1}`)),
    refused(recipe, 'what v1 signs is the body of v0', {
      headers: [['X-Hook0-Signature', `t=${NOW},v0=${V1}`]],
      body: Buffer.concat([Buffer.from(`${COVERED}.${SENT.map(([, text]) => text).join('.')}.`), BODY]),
    }),
    refused(recipe, 'a right v0 does not save a wrong v1', signed(`t=${NOW},v0=${v0},h=${COVERED},v1=${v0}`)),
    refused(recipe, 'a right v0 does not save an empty v1', signed(`t=${NOW},v0=${v0},h=${COVERED},v1=`)),
    refused(recipe, 'v0 stands twice', signed(`t=${NOW},v0=${v0},v0=${v0}`)),
    refused(recipe, 'v1 stands twice', signed(`${value},v1=${V1}`)),
    refused(recipe, 'the names stand twice', signed(`${value},h=x-event-id`)),
    refused(recipe, 'v1 is 301 s ago', { ...signed(value), now: NOW + 301 }),
    refused(recipe, 'v1 is 301 s ahead', { ...signed(value), now: NOW - 301 }),
    refused(recipe, 'v0 where v1 is pinned', { ...signed(`t=${NOW},v0=${v0}`), settings: { version: 'v1' } }),
    refused(recipe, 'v1 where v0 is pinned', { ...signed(value), settings: { version: 'v0' } }),
    accepted(recipe, 'v1 where v1 is pinned', { ...signed(value), settings: { version: 'v1' } }),
  ]
}

function publishedByHook0(recipe: Recipe): Vector[] {
  const hello = { secret: 'secret', now: 1_636_936_200, body: Buffer.from('hello !') }
  const event: readonly HeaderLine[] = [
    ['x-event-id', '1a01cb48-5142-4d9b-8f90-d20cca61f0ee'],
    ['x-event-type', 'service.resource.verb'],
  ]
  const client = { secret: 'a-subscription-secret', now: 1_800_000_000, body: Buffer.from('{"event":"user.created"}') }
  const delivery: readonly HeaderLine[] = [
    ['x-event-id', 'evt-1'],
    ['x-delivery-id', 'dlv-1'],
  ]
  const older = 't=1800000000,v0=d17d66b66fca89390c5b967c45e8928fc732db07a0aabe8167b1e98213081ffe'
  const names = 'x-event-id x-delivery-id'
  const newer = 'v1=19a6fb8f6581715b241a93af02a58611c3b0ac7b747a8d2a5b120ee418d0c347'
  const wrong = 'bf5f4e5fe0c9143510ae192f983316a09ed392d0104d2ce0faa3d7bce3687acb'
  const signed = (headers: readonly HeaderLine[], value: string): Delivered => ({
    headers: [...headers, ['X-Hook0-Signature', value]],
  })
  return [
    accepted(recipe, 'published: the worker, v0', {
      ...hello,
      ...signed([], 't=1636936200,v0=1b3d69df55f1e52f05224ba94a5162abeb17ef52cd7f4948c390f810d6a87e98'),
    }),
    accepted(recipe, 'published: the worker, v1', {
      ...hello,
      ...signed(
        event,
        't=1636936200,h=x-event-id x-event-type,v1=bc521546ba5de381b12f135782d2008b028c3065c191760b12b76850a8fc8f51',
      ),
    }),
    accepted(recipe, 'published: the clients, v0', { ...client, ...signed(delivery, older) }),
    accepted(recipe, 'published: the clients, v1', {
      ...client,
      ...signed(delivery, `t=1800000000,h=${names},${newer}`),
    }),
    accepted(recipe, 'published: the clients, v1 counts where both are offered', {
      ...client,
      ...signed(delivery, `t=1800000000,h=${names},v0=${wrong},${newer}`),
    }),
    refused(recipe, 'published: the clients, a right v0 does not rescue a wrong v1', {
      ...client,
      ...signed(delivery, `${older},h=${names},v1=${wrong}`),
    }),
    refused(recipe, 'published: the clients, a covered header was not delivered', {
      ...client,
      ...signed(delivery, `t=1800000000,h=x-event-id x-missing,${newer}`),
    }),
  ]
}
