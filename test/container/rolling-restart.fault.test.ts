import { describe, expect, it } from 'vitest'
import { containerImages, startContainerStack } from '../support/containers/container-stack.ts'
import { describeStack } from '../support/containers/describe-stack.ts'
import { addMixedLoad, createOrdersAfterFault } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { limitOf, Phases } from '../support/phases.ts'
import { closingCheck } from '../support/stack/closing-check.ts'

const ORDERS_A_STEP = 40
/** What each phase may take, in milliseconds: several times of what it takes on two busy cores. */
const PHASES = {
  'the first service is restarted': 90_000,
  'the second service is restarted': 90_000,
  'the third service is restarted': 90_000,
  'the fourth service is restarted': 90_000,
  'everything is delivered': 60_000,
  'everything is settled': 120_000,
} as const
const STEPS = [
  'the first service is restarted',
  'the second service is restarted',
  'the third service is restarted',
  'the fourth service is restarted',
] as const

describe('a rolling restart of both services under load', { timeout: limitOf(PHASES, 240_000) }, () => {
  it('loses nothing: each process exits with 0 and restarts, each event has one effect', async (context) => {
    const images = await containerImages(context)
    await using stack = await startContainerStack({ images, gateways: 2, fulfilments: 2, mongoNodes: 1 })
    await using source = new WebhookSource(stack.provider(), { perSecond: 40, parallel: 100 })
    const services = [...stack.fulfilments, ...stack.gateways]
    const orders = await createOrdersAfterFault(stack, ORDERS_A_STEP * services.length)
    const phases = new Phases(PHASES, () => describeStack(stack, source))
    const codes: number[] = []
    for (const [step, name] of STEPS.entries()) {
      const { container } = services[step] ?? expect.unreachable()
      await phases.run(name, async () => {
        const [before, after] = [2 * step, 2 * step + 1].map((half) =>
          orders.slice((half * ORDERS_A_STEP) / 2, ((half + 1) * ORDERS_A_STEP) / 2),
        )
        addMixedLoad(source, before ?? [])
        void source.run()
        await source.untilAccepted(source.accepted + 20)
        codes.push(await container.stop())
        // On a busy machine, a stop may outlast any load that began before it.
        addMixedLoad(source, after ?? [])
        void source.run()
        await source.untilAccepted(source.accepted + 20)
        await container.restart()
      })
    }
    await phases.run('everything is delivered', () => source.run())
    await phases.run('everything is settled', () => stack.untilSettled())

    expect(codes).toEqual([0, 0, 0, 0])
    const volume = services.length * ORDERS_A_STEP * 4
    const row = { struck: { 'an orderly stop': codes.length }, volume, receiptsOnce: true as const }
    expect(await closingCheck(stack, source.log, row)).toEqual([])
    const logs = await Promise.all(services.map(({ container }) => container.written()))
    expect(
      logs.map((log) => log.match(/"service\.stopped"/g)?.length ?? 0),
      'orderly ends',
    ).toEqual([1, 1, 1, 1])
  })
})
