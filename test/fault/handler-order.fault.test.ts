import { createHmac, randomBytes } from 'node:crypto'
import { startHandlerServer } from '@oncehook/gateway/testing/handlers/handler-server'
import { expect, it } from 'vitest'
import { startSecondGateway } from '../support/stack/second-gateway.ts'
import { startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const EVENTS = Number(process.env.ORDER_EVENTS ?? 400)
const VALUES = 50
const EACH = Math.ceil(EVENTS / VALUES)
/** One call of this number fails, so that later tasks of its line wait for a retry. */
const FAILS_ONCE_IN = 40
const SECRET = `whsec_${randomBytes(32).toString('base64')}`

it(`FP-44: ${EVENTS} events with ${VALUES} values reach a handler in order for each value, through two gateways, one of which is killed`, {
  timeout: 180_000 + EVENTS * 100,
}, async () => {
  await using server = await startHandlerServer()
  const effects = new Map<string, string[]>()
  const seen = new Set<string>()
  let calls = 0
  server.answer = ({ body }) => {
    calls += 1
    if (calls % FAILS_ONCE_IN === 0) return { status: 500 }
    const { eventId, objectId } = JSON.parse(body)
    if (!seen.has(eventId)) effects.set(objectId, [...(effects.get(objectId) ?? []), eventId])
    seen.add(eventId)
    return { status: 204 }
  }
  const settings = {
    HANDLERS: JSON.stringify({ orders: describe(server.url) }),
    RETRY_BASE_MS: '50',
    RETRY_CAP_MS: '500',
  }
  await using stack = await startStack({ gateway: settings })
  await using second = await startSecondGateway(stack, settings)
  const urls = [stack.url, second.url]
  const sendAll = async (value: string): Promise<string[]> => {
    const ids = Array.from({ length: EACH }, (_, index) => `${value}-${index}`)
    // Each is acknowledged before the next is sent, so their order of receipt is known.
    for (const [index, id] of ids.entries())
      await deliver({ urls, from: index, secret: stack.secrets.shop }, { id, value })
    return ids
  }
  const values = Array.from({ length: VALUES }, (_, index) => `value${index}`)
  const begunAt = performance.now()
  const sending = Promise.all(values.map(async (value) => [value, await sendAll(value)] as const))
  await until(
    async () => seen.size,
    (count) => count >= EVENTS / 4,
    120_000,
  )
  await second.gateway.kill('SIGKILL')
  await until(
    async () => seen.size,
    (count) => count >= EVENTS / 3,
    120_000,
  )
  await second.gateway.restart()
  const sent = await sending
  const open = () => stack.events.countDocuments({ state: { $ne: 'done' } })
  await until(open, (count) => count === 0, 60_000 + EVENTS * 50)
  process.stderr.write(
    `${EACH * VALUES} events in ${((performance.now() - begunAt) / 1_000).toFixed(1)} s, ${calls} calls\n`,
  )
  for (const [value, ids] of sent) expect(effects.get(value)).toEqual(ids)
})

function describe(url: string): object {
  return {
    https: `${url}/hook`,
    secrets: [{ id: '1', value: SECRET }],
    events: [{ types: ['invoice.*'] }],
    orderBy: '/data/object/id',
    concurrency: 32,
  }
}

interface Route {
  readonly urls: readonly string[]
  readonly from: number
  readonly secret: string
}

/** Delivers an event until a gateway has stored it. The gateways take turns. */
async function deliver({ urls, from, secret }: Route, { id, value }: { id: string; value: string }): Promise<void> {
  const body = JSON.stringify({ id, type: 'invoice.paid', data: { object: { id: value } } })
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const headers = { 'content-type': 'application/json', 'x-shop-signature': signature }
  for (let tries = from; ; tries += 1) {
    const url = `${urls[tries % urls.length]}/api/webhooks/shop`
    const answer = await fetch(url, { method: 'POST', headers, body }).catch(() => null)
    if (answer?.status === 200) return
  }
}
