import type { PaymentProvider } from '@oncehook/simulator/payment-provider'
import { shareOut } from '../load/share-out.ts'
import { type SecondGateway, startSecondGateway } from './second-gateway.ts'
import type { ServiceUnderTest, Settings } from './service-under-test.ts'
import type { Stack } from './stack.ts'

/** Gateways on one inbox. Disposing of them stops all but that of the stack. */
interface SeveralGateways extends AsyncDisposable {
  readonly gateways: readonly ServiceUnderTest[]
  /** The provider acme, which delivers to each of them in turn. */
  readonly provider: PaymentProvider
}

/** Starts as many gateways beside that of a stack as are missing; all are ready when it resolves. */
export async function startSeveralGateways(
  stack: Stack,
  count: number,
  settings: Settings = {},
): Promise<SeveralGateways> {
  await using resources = new AsyncDisposableStack()
  const others: SecondGateway[] = []
  while (others.length < count - 1) others.push(resources.use(await startSecondGateway(stack, settings)))
  const owned = resources.move()
  return {
    gateways: [stack.gateway, ...others.map(({ gateway }) => gateway)],
    provider: shareOut([stack.provider('acme'), ...others.map(({ provider }) => provider)]),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
