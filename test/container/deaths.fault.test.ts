import { describe, expect, it, type TestContext } from 'vitest'
import type { ContainerStack } from '../support/containers/container-stack.ts'
import type { ContainerUnderTest } from '../support/containers/container-under-test.ts'
import { describeStack } from '../support/containers/describe-stack.ts'
import { shareStack } from '../support/containers/share-stack.ts'
import { addMixedLoad, createOrdersAfterFault } from '../support/load/mixed-load.ts'
import { adminCommand } from '../support/mongod/mongod-under-test.ts'
import { limitOf, Phases } from '../support/phases.ts'
import { closingCheck } from '../support/stack/closing-check.ts'
import { until } from '../support/until.ts'

const ORDERS = 24
/** The number of deliveries accepted before the strike, and again while the victim is unavailable. */
const ACCEPTED = 20
/** What each phase may take, in milliseconds: several times of what it takes on two busy cores. */
const PHASES = {
  'load before the strike': 60_000,
  strike: 45_000,
  'the others go on': 60_000,
  heal: 90_000,
  'everything is delivered': 60_000,
  'everything is settled': 120_000,
} as const
// The first test starts the stack.
const LIMIT = { timeout: limitOf(PHASES, 240_000) }
const shared = shareStack({
  gateways: 2,
  fulfilments: 2,
  mongoNodes: 3,
  // This provider gives up on a frozen gateway sooner than most providers do.
  source: { perSecond: 60, timeoutMs: 4_000 },
})

/** What happens to a container under load. */
interface Strike {
  readonly strike: (victim: ContainerUnderTest) => Promise<unknown>
  /** The state that the engine reports then. */
  readonly state: string
  readonly heal: (victim: ContainerUnderTest) => Promise<void>
}

const strikes: Readonly<Record<'frozen' | 'killed' | 'stopped', Strike>> = {
  frozen: { strike: (one) => one.pause(), state: 'paused', heal: (one) => one.resume() },
  killed: { strike: (one) => one.kill(), state: 'exited', heal: (one) => one.restart() },
  stopped: { strike: async (one) => expect(await one.stop()).toBe(0), state: 'exited', heal: (one) => one.restart() },
}

type Victim = (stack: ContainerStack) => Promise<ContainerUnderTest>

const victims: Readonly<Record<'gateway' | 'fulfilment', Victim>> = {
  gateway: async ({ gateways: [first] }) => first?.container ?? expect.unreachable(),
  fulfilment: async ({ fulfilments: [first] }) => first?.container ?? expect.unreachable(),
}

/** Strikes under load, expects the others to continue, repairs, and expects one effect of every accepted event. */
async function endure(context: TestContext, victimOf: Victim, { strike, state, heal }: Strike): Promise<void> {
  const { stack, source } = await shared(context)
  const phases = new Phases(PHASES, () => describeStack(stack, source))
  const accept = () => source.untilAccepted(source.accepted + ACCEPTED)
  const orders = await phases.run('load before the strike', async () => {
    const made = await createOrdersAfterFault(stack, ORDERS)
    addMixedLoad(source, made.slice(0, ORDERS / 2))
    void source.run()
    await accept()
    return made
  })
  const victim = await victimOf(stack)
  await phases.run('strike', () => strike(victim))
  expect(await victim.state()).toBe(state)

  addMixedLoad(source, orders.slice(ORDERS / 2))
  const finished = source.run()
  await phases.run('the others go on', accept)
  expect(await victim.state(), 'after others had gone on').toBe(state)
  await phases.run('heal', () => heal(victim))
  await phases.run('everything is delivered', () => finished)
  await phases.run('everything is settled', () => stack.untilSettled())
  expect(await closingCheck(stack, source.log, { struck: { [state]: 1 }, volume: 2 * ACCEPTED })).toEqual([])
}

describe.each(Object.entries(victims))('a %s under load', LIMIT, (_, victim) => {
  it.for(Object.entries(strikes))(
    'that is %s is not missed, and takes its part again afterwards',
    async ([, strike], context) => {
      await endure(context, victim, strike)
    },
  )
})

describe('the primary of three MongoDB nodes under load', LIMIT, () => {
  /** A strike after which another node has to become primary before the victim is repaired. */
  const replaced = (strike: Strike, stack: ContainerStack): Strike => ({
    ...strike,
    async heal(victim) {
      await until(
        () => stack.mongo.primary(),
        ({ container }) => container !== victim,
      )
      await strike.heal(victim)
    },
  })
  const primary: Victim = async ({ mongo }) => (await mongo.primary()).container

  it.for(Object.entries(strikes))(
    'that is %s is replaced: nothing that was accepted is lost',
    async ([, strike], context) => {
      const { stack } = await shared(context)
      await endure(context, primary, replaced(strike, stack))
    },
  )

  it('that steps down is replaced', async (context) => {
    const { stack } = await shared(context)
    const strike = async () => adminCommand((await stack.mongo.primary()).port, { replSetStepDown: 10, force: true })
    await endure(context, primary, replaced({ strike, state: 'running', heal: async () => undefined }, stack))
  })
})
