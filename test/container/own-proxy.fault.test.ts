import { describe, expect, it } from 'vitest'
import { ownProxyImage } from '../support/containers/container-images.ts'
import { containerImages, startContainerStack } from '../support/containers/container-stack.ts'
import type { Trouble } from '../support/containers/edge-proxy.ts'
import { createOrders } from '../support/load/mixed-load.ts'
import { paymentOf } from '../support/stack/stack.ts'

describe('the replacement for toxiproxy', () => {
  it('delays, slows down, cuts and drops, and recovers each time', async (context) => {
    const images = { ...(await containerImages(context)), proxy: await ownProxyImage(context) }
    await using stack = await startContainerStack({ images, gateways: 1, fulfilments: 1, mongoNodes: 1 })
    const [order] = await createOrders(stack, 1)
    const patient = stack.provider({ paddingBytes: 6_000 })
    const impatient = stack.provider({ timeoutMs: 3_000 })
    const deliver = async (provider = patient) =>
      provider.deliver(provider.write(paymentOf(order ?? expect.unreachable())))
    const deliverIn = async (trouble: Trouble, provider = patient) => {
      await using _ = await stack.trouble('provider-gateway', trouble)
      return await deliver(provider) // await it here, because the trouble ends with this block
    }

    const delayed = await deliverIn({ latencyMs: 400 })
    expect(delayed.status).toBe(200)
    expect(delayed.ms).toBeGreaterThanOrEqual(400)
    const slowed = await deliverIn({ slowKBs: 6 })
    expect(slowed.status).toBe(200)
    expect(slowed.ms).toBeGreaterThanOrEqual(1_000)
    expect((await deliver()).status).toBe(200)
    expect(await deliverIn('cut')).toMatchObject({ status: null, failure: expect.not.stringContaining('timeout') })
    expect((await deliver()).status).toBe(200)
    expect(await deliverIn('half-open', impatient)).toMatchObject({ status: null, failure: 'timeout' })
    expect((await deliver()).status).toBe(200)
    expect(await stack.events.countDocuments(), 'also those without an answer').toBeGreaterThanOrEqual(6)
    await stack.untilSettled()
  })
})
