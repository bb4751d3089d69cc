import { describe, expect, it } from 'vitest'
import { sendRaw } from '../support/http/raw-request.ts'
import { signedDelivery, withHeader } from '../support/http/signed-delivery.ts'
import { BODY_CANARY } from '../support/stack/canaries.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

/** Good, bad and strange deliveries to every provider; every body is marked. */
async function deliverAllSorts(stack: Stack): Promise<void> {
  for (const name of ['acme', 'stripe', 'shop'] as const) {
    const provider = stack.provider(name)
    const message = provider.write(paymentOf(await stack.orders.create()))
    await provider.deliver(message)
    await provider.deliver(message)
    for (const tampered of ['body', 'signature'] as const) await provider.deliver(message, tampered)
    await provider.deliver(provider.write(paymentOf(await stack.orders.create(), { amount: 1 })))
    await provider.deliver(provider.write(paymentOf(await stack.orders.create(), { type: 'moon.full' })))
    const broken = Buffer.from(`{"${BODY_CANARY}":`)
    await provider.deliver({ eventId: 'evt_broken', body: broken })
    await provider.deliver({ eventId: 'evt_shapeless', body: Buffer.from(JSON.stringify({ memo: BODY_CANARY })) })
  }
  const good = signedDelivery({ body: Buffer.from(BODY_CANARY), secret: stack.secrets.acme.current })
  await sendRaw(stack.url, withHeader(good, 'content-encoding', BODY_CANARY))
  await sendRaw(stack.url, withHeader(good, 'content-type', BODY_CANARY))
  await sendRaw(stack.url, withHeader(good, 'webhook-timestamp', BODY_CANARY))
}

/** Makes calls of the orders API that are refused, each for a different reason. */
async function callWrongly(stack: Stack): Promise<string[]> {
  const json = { 'content-type': 'application/json' }
  const answers = await Promise.all([
    stack.orders.send('', { method: 'POST', headers: json, body: JSON.stringify({ note: BODY_CANARY }) }),
    stack.orders.send('', { method: 'POST', headers: json, body: `{"note":"${BODY_CANARY}` }),
    stack.orders.send('/ord_1', { method: 'PATCH', headers: json, body: JSON.stringify({ note: BODY_CANARY }) }),
    stack.orders.send('/ord_1', { headers: { authorization: `Bearer ${stack.secrets.operatorToken}` } }),
    stack.orders.send('/ord_1', { headers: { authorization: `Basic ${stack.secrets.apiToken}` } }),
  ])
  return answers.map(({ body }) => JSON.stringify(body))
}

async function metricsOf(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
}

describe('a stack that has seen everything', () => {
  it('writes no secret, no signature and no part of a body into any log line, error or metric', async () => {
    await using stack = await startStack()
    const { gateway, fulfilment, place } = stack
    await deliverAllSorts(stack)
    const errors = await callWrongly(stack)
    const order = await stack.orders.create()
    await fulfilment.kill('SIGKILL')
    errors.push(JSON.stringify((await stack.orders.send(`/${order.id}`)).body))
    await stack.deliver(paymentOf(order))
    await until(
      () => gateway.countOf('handler.unreachable'),
      (count) => count > 0,
    )
    await fulfilment.restart()
    await gateway.kill('SIGTERM')
    await gateway.restart()
    await stack.untilReady()
    const metrics = await Promise.all([metricsOf(place.adminPort), metricsOf(place.fulfilmentPort)])

    expect(stack.leaksIn([...errors, ...metrics].join('\n'))).toEqual([])
    expect(stack.leaksIn(gateway.written)).toEqual([])
    expect(stack.leaksIn(fulfilment.written)).toEqual([])

    const told = new Set(gateway.lines.map(({ msg }) => msg))
    const wanted = ['webhook.recorded', 'webhook.duplicate', 'webhook.refused', 'event.unhandled', 'event.dead']
    expect([...told]).toEqual(expect.arrayContaining([...wanted, 'event.settled', 'handler.unreachable']))
    expect(fulfilment.countOf('request.completed')).toBeGreaterThan(0)
  })
})
