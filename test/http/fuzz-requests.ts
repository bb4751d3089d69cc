import fc from 'fast-check'

/** The material for the strange requests to one listener. */
export interface FuzzSoil {
  readonly targets: readonly string[]
  /** A valid value of Authorization, so that strange requests get past authentication. */
  readonly authorization: string
  readonly bodies: readonly string[]
  /** Valid requests, to be tampered with. */
  readonly good: readonly Buffer[]
}

const METHODS = ['GET', 'GET', 'HEAD', 'POST', 'POST', 'PUT', 'PUT', 'PATCH', 'PATCH', 'DELETE', 'OPTIONS']
const ODD_METHODS = ['TRACE', 'CONNECT', 'QUERY', 'M-SEARCH', 'get', 'X']
const NAMES = [
  ...['Accept', 'Authorization', 'Connection', 'Content-Encoding', 'Content-Length', 'Content-Range', 'Content-Type'],
  ...['Cookie', 'Expect', 'Forwarded', 'Host', 'Idempotency-Key', 'If-Match', 'If-Modified-Since', 'If-None-Match'],
  ...['If-Range', 'Origin', 'Access-Control-Request-Method', 'Range', 'TE', 'Trailer', 'Transfer-Encoding'],
  ...['Upgrade', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-HTTP-Method-Override', 'X-Request-Id', 'webhook-id'],
  ...['webhook-timestamp', 'webhook-signature', '__proto__', 'constructor'],
]
const VALUES = [
  ...['', '*', '"1"', 'W/"1"', '"1", *', '"\\"', 'application/json', 'application/merge-patch+json'],
  ...['application/json; charset="', 'text/html;q=NaN, */*;q=1e9', ';,=;,"', 'chunked', 'gzip, chunked', 'identity'],
  ...['100-continue', 'close', 'keep-alive, Upgrade', 'websocket', '0', '2', '10', '99999999999999999999', '-1'],
  ...['bytes=0-1,2-', 'null', 'https://shop.example', '%00%ff%', '../../etc/passwd', '{"$gt":""}', '\xff\xfe'],
  ...['\u0000', 'a\rb', 'x'.repeat(3_000), ',', ', , ,', '"', '[', '((((((((('],
]

/** A request as octets, more or less strange: valid but odd, slightly or heavily broken, or noise. */
export function strangeRequests(soil: FuzzSoil): fc.Arbitrary<Buffer> {
  return fc.oneof(
    { weight: 8, arbitrary: oddRequest(soil) },
    { weight: 8, arbitrary: spoiledRequest(soil, { splinters: GENTLE, fromBody: true }) },
    { weight: 3, arbitrary: spoiledRequest(soil, { splinters: GENTLE, fromBody: false }) },
    { weight: 2, arbitrary: spoiledRequest(soil, { splinters: HARSH, fromBody: false }) },
    { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 300 }).map((octets) => Buffer.from(octets)) },
  )
}

function oddRequest({ targets, authorization, bodies }: FuzzSoil): fc.Arbitrary<Buffer> {
  const path = fc.constantFrom(...targets)
  const strangePath = fc.tuple(path, strangeText).map((parts) => parts.join(''))
  const body = fc.oneof(fc.constantFrom('', ...bodies), fc.json({ maxDepth: 4 }), strangeText)
  const value = fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...VALUES) }, { weight: 1, arbitrary: strangeText })
  const parts = {
    method: mostly(METHODS, ODD_METHODS),
    target: fc.oneof({ weight: 4, arbitrary: path }, { weight: 1, arbitrary: strangePath }),
    lines: fc.array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 3 }),
    body,
    framed: fc.boolean(),
    trusted: mostly([true], [false]),
  }
  return fc.record(parts).map((odd) => {
    const content = Buffer.from(odd.body)
    const head = [
      `${odd.method} ${odd.target} HTTP/1.1`,
      'Host: a',
      'Connection: close',
      ...(odd.trusted ? [`Authorization: ${authorization}`] : []),
      ...(odd.framed ? ['Content-Type: application/json', `Content-Length: ${content.length}`] : []),
      ...odd.lines.map(([name, text]) => `${name}: ${text}`),
    ]
    return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), content])
  })
}

const GENTLE = [
  ...['', '"', ',', '[', ']', '{', '}', ':', '0', '1e99', '-1', 'null', ' ', '\\', '\\ud800', '\xff', '\xc3\xa9'],
  ...['a', '$', '/', '__proto__'],
]
const HARSH = [
  ...['\r\n', '\n', '\r', '\0', ' ', ':', '%', '\r\n\r\n', '0\r\n\r\n', '\xff', 'HTTP/1.1', ' chunked', '\t', '('],
  ...['%00'],
]

interface Spoiling {
  /** The octets that are inserted. */
  readonly splinters: readonly string[]
  /** Whether only the body is broken; its length is correct then. */
  readonly fromBody: boolean
}

/** A valid request with a few changes: octets are replaced, removed, inserted or repeated. */
function spoiledRequest({ good }: FuzzSoil, { splinters, fromBody }: Spoiling): fc.Arbitrary<Buffer> {
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat(6),
    splinter: fc.constantFrom(...splinters),
    doubled: fc.boolean(),
  })
  return fc
    .tuple(fc.constantFrom(...good), fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([request, changes]) => {
      const text = request.toString('latin1')
      const head = fromBody ? text.slice(0, text.indexOf('\r\n\r\n') + 4) : ''
      let rest = text.slice(head.length)
      for (const { at, length, splinter, doubled } of changes) {
        const from = Math.floor(at * rest.length)
        const kept = doubled ? rest.slice(from, from + length * 4) : ''
        rest = rest.slice(0, from) + kept + splinter + rest.slice(from + (doubled ? 0 : length))
      }
      const framed = fromBody ? head.replace(/(content-length: )\d+/, `$1${rest.length}`) : head
      return Buffer.from(framed + rest, 'latin1')
    })
}

const strangeText = fc.oneof(
  fc.constantFrom('%', '%00', '%ff', '%2f..%2f', '?a=%', '?limit=1&limit=2', '?input=%7B', '#a', '//', '/..', ';a=b'),
  fc.constantFrom(
    '\\',
    '\u{1F600}',
    'x'.repeat(9_000),
    '[0]',
    '?__proto__[a]=1',
    '?input=null',
    '?batch=1',
    '%E2%82%AC',
    '?',
  ),
  fc.string({ unit: 'grapheme-ascii', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
)

function mostly<T>(usual: readonly T[], odd: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  )
}
