import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { Delivery } from '@oncehook/webhooks/providers'
import { makeProvider } from '@oncehook/webhooks/testing/make-provider'

/** A plain HMAC scheme: its settings, and how a delivery of a body is signed with it at a time (seconds). */
interface Scheme {
  readonly settings: Readonly<Record<string, unknown>> & { readonly scheme: string }
  readonly headers: (mac: (...parts: (string | Buffer)[]) => Buffer, body: Buffer) => Readonly<Record<string, string>>
}

const SECRET = 'a_secret_of_32_bytes_for_a_bench'
const SECONDS = 1_760_000_000
const TIME = String(SECONDS)
const ADDRESS = 'https://pay.example.com/api/webhooks/square'

/** Every scheme that is an HMAC of the body, or of a time and the body. */
const SCHEMES: readonly Scheme[] = [
  { settings: { scheme: 'checkout' }, headers: (mac, body) => ({ 'Cko-Signature': mac(body).toString('hex') }) },
  {
    settings: { scheme: 'github' },
    headers: (mac, body) => ({ 'X-Hub-Signature-256': `sha256=${mac(body).toString('hex')}` }),
  },
  { settings: { scheme: 'gocardless' }, headers: (mac, body) => ({ 'Webhook-Signature': mac(body).toString('hex') }) },
  { settings: { scheme: 'lemonsqueezy' }, headers: (mac, body) => ({ 'X-Signature': mac(body).toString('hex') }) },
  {
    settings: { scheme: 'mollie' },
    headers: (mac, body) => ({ 'X-Mollie-Signature': `sha256=${mac(body).toString('hex')}` }),
  },
  { settings: { scheme: 'razorpay' }, headers: (mac, body) => ({ 'X-Razorpay-Signature': mac(body).toString('hex') }) },
  {
    settings: { scheme: 'shopify' },
    headers: (mac, body) => ({ 'X-Shopify-Hmac-Sha256': mac(body).toString('base64') }),
  },
  {
    settings: { scheme: 'woocommerce' },
    headers: (mac, body) => ({ 'X-WC-Webhook-Signature': mac(body).toString('base64') }),
  },
  {
    settings: { scheme: 'x' },
    headers: (mac, body) => ({ 'x-twitter-webhooks-signature': `sha256=${mac(body).toString('base64')}` }),
  },
  {
    settings: { scheme: 'hmac', header: 'x-signature' },
    headers: (mac, body) => ({ 'x-signature': mac(body).toString('hex') }),
  },
  {
    settings: { scheme: 'square', publicUrl: ADDRESS },
    headers: (mac, body) => ({ 'x-square-hmacsha256-signature': mac(ADDRESS, body).toString('base64') }),
  },
  {
    settings: { scheme: 'slack' },
    headers: (mac, body) => ({
      'X-Slack-Signature': `v0=${mac(`v0:${TIME}:`, body).toString('hex')}`,
      'X-Slack-Request-Timestamp': TIME,
    }),
  },
  {
    settings: { scheme: 'zoom' },
    headers: (mac, body) => ({
      'x-zm-signature': `v0=${mac(`v0:${TIME}:`, body).toString('hex')}`,
      'x-zm-request-timestamp': TIME,
    }),
  },
  {
    settings: { scheme: 'cashfree' },
    headers: (mac, body) => ({
      'x-webhook-signature': mac(TIME, body).toString('base64'),
      'x-webhook-timestamp': TIME,
    }),
  },
  {
    settings: { scheme: 'paddle' },
    headers: (mac, body) => ({ 'Paddle-Signature': `ts=${TIME};h1=${mac(`${TIME}:`, body).toString('hex')}` }),
  },
  {
    settings: { scheme: 'stripe' },
    headers: (mac, body) => ({ 'Stripe-Signature': `t=${TIME},v1=${mac(`${TIME}.`, body).toString('hex')}` }),
  },
  {
    settings: { scheme: 'hook0' },
    headers: (mac, body) => ({ 'X-Hook0-Signature': `t=${TIME},v0=${mac(`${TIME}.`, body).toString('hex')}` }),
  },
  {
    settings: { scheme: 'hmac', header: 'x-signature', timestampHeader: 'x-timestamp' },
    headers: (mac, body) => ({ 'x-signature': mac(`${TIME}.`, body).toString('hex'), 'x-timestamp': TIME }),
  },
]

const ROUNDS = Number(process.argv[2] ?? 401)
const BATCH = 200
const body = Buffer.alloc(1_024, '{"id":"evt_0001","type":"payment.succeeded"} ')
const key = createSecretKey(Buffer.from(SECRET))

/** The unavoidable minimum: the HMAC of the body with a prepared key, compared in constant time. */
function prepareBare(): () => void {
  const expected = createHmac('sha256', key).update(body).digest()
  return () => {
    if (!timingSafeEqual(createHmac('sha256', key).update(body).digest(), expected)) throw new Error('Not authentic')
  }
}

/** The full verification of a delivery as it comes off the wire, with typical headers. */
function prepare({ settings, headers }: Scheme): () => void {
  const mac = (...parts: (string | Buffer)[]): Buffer => {
    const hmac = createHmac('sha256', SECRET)
    for (const part of parts) hmac.update(part)
    return hmac.digest()
  }
  const usual = { Host: 'pay.example.com', 'User-Agent': 'acme/1.0', Accept: '*/*', 'Content-Type': 'application/json' }
  const rawHeaders = Object.entries({ ...usual, ...headers(mac, body), 'Content-Length': '1024' }).flat()
  const delivery: Delivery = { rawBody: body, rawHeaders, query: '' }
  const provider = makeProvider({ settings, secrets: [{ value: SECRET }] })
  return () => {
    const verdict = provider.verify(delivery, SECONDS * 1_000, fetch)
    if (!('secretId' in verdict)) throw new Error(`${settings.scheme} refuses`)
  }
}

function nanosecondsOf(run: () => void): number {
  const start = process.hrtime.bigint()
  for (let index = 0; index < BATCH; index += 1) run()
  return Number(process.hrtime.bigint() - start) / BATCH
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN
}

/** The highest cost that a verification should have, in bare MACs. */
const GOAL = 1.3

/** Measures each scheme and the bare MAC in turn within every round. The median of the ratios counts. */
function measure(): void {
  const ratios: number[] = []
  const bare = prepareBare()
  for (const tested of SCHEMES) {
    const run = prepare(tested)
    nanosecondsOf(run)
    nanosecondsOf(bare)
    const rounds = Array.from({ length: ROUNDS }, (_, round) => {
      // The order alternates, so that neither has the warmer cache.
      if (round % 2 === 0) return { bare: nanosecondsOf(bare), run: nanosecondsOf(run) }
      const own = nanosecondsOf(run)
      return { bare: nanosecondsOf(bare), run: own }
    })
    const ratio = median(rounds.map((round) => round.run / round.bare))
    ratios.push(ratio)
    const { scheme, ...rest } = tested.settings
    const name = 'timestampHeader' in rest ? `${scheme}, with a time` : scheme
    const micros = (values: readonly number[]): string => (median(values) / 1_000).toFixed(2)
    console.log(
      `${name.padEnd(20)} ${micros(rounds.map((one) => one.run))} us  bare ${micros(rounds.map((one) => one.bare))} us  ${ratio.toFixed(2)}`,
    )
  }
  const worst = Math.max(...ratios)
  console.log(
    `The dearest costs ${worst.toFixed(2)} bare MACs; the goal of ${GOAL} is ${worst <= GOAL ? 'met' : 'missed'}`,
  )
}

measure()
