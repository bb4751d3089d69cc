import { describe, expect, it, type TestContext } from 'vitest'
import { containerImages, startContainerStack } from '../support/containers/container-stack.ts'
import { describeStack } from '../support/containers/describe-stack.ts'
import { addMixedLoad, createOrdersAfterFault } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { limitOf, Phases } from '../support/phases.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { oldImages } from './old-images.ts'

const ORDERS = 60
/** What each phase may take, in milliseconds: several times of what it takes on two busy cores. */
const PHASES = { 'everything is delivered': 120_000, 'everything is settled': 120_000 } as const

interface Mixture {
  readonly gateways: number
  readonly fulfilments: number
  /** The services that run the earlier version. */
  readonly old: readonly `${'gateway' | 'fulfilment'}${number}`[]
}

async function takePayments(context: TestContext, { gateways, fulfilments, old }: Mixture): Promise<void> {
  const earlier = await oldImages(context)
  const present = await containerImages(context)
  const olds = old.map((name) => [name, name.startsWith('gateway') ? earlier.gateway : earlier.fulfilment])
  const images = { ...present, others: Object.fromEntries(olds) }
  // The tokens of a gateway of 0.1.0 are good for any call.
  const fulfilment = { SERVICE_TOKEN_BINDING: 'accepted' }
  await using stack = await startContainerStack({ images, gateways, fulfilments, mongos: 1, fulfilment })
  await using source = new WebhookSource(stack.provider(), { perSecond: 200, parallel: 50 })
  const phases = new Phases(PHASES, () => describeStack(stack, source))
  addMixedLoad(source, await createOrdersAfterFault(stack, ORDERS))
  await phases.run('everything is delivered', () => source.run())
  await phases.run('everything is settled', () => stack.untilSettled())
  const row = { struck: { 'an earlier version': old.length }, volume: 4 * ORDERS }
  expect(await closingCheck(stack, source.log, row)).toEqual([])
  const services = [...stack.gateways, ...stack.fulfilments]
  const isOld = ({ name }: (typeof services)[number]) => old.some((one) => one === name)
  const revisions = (of: typeof services) => Promise.all(of.map(({ container }) => container.revision()))
  expect(await revisions(services.filter(isOld))).toEqual(old.map(() => earlier.commit))
  for (const revision of await revisions(services.filter((service) => !isOld(service)))) {
    expect(revision, 'what a present service is made from').toMatch(/^[0-9a-f]{40}/)
    expect(revision).not.toContain(earlier.commit)
  }
}

describe('two versions side by side', { timeout: limitOf(PHASES, 240_000) }, () => {
  it('an old gateway and a new fulfilment take payments together', async (context) => {
    await takePayments(context, { gateways: 1, fulfilments: 1, old: ['gateway1'] })
  })

  it('a new gateway and an old fulfilment do', async (context) => {
    await takePayments(context, { gateways: 1, fulfilments: 1, old: ['fulfilment1'] })
  })

  it('two of each, old and new on the same records, do: as in the middle of an upgrade', async (context) => {
    await takePayments(context, { gateways: 2, fulfilments: 2, old: ['gateway1', 'fulfilment1'] })
  })
})
