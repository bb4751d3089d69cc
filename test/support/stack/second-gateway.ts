import type { PaymentProvider } from '@oncehook/simulator/payment-provider'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { ServiceUnderTest, type Settings } from './service-under-test.ts'
import type { Stack } from './stack.ts'
import { gatewaySettings } from './stack-settings.ts'

/** One more gateway on the inbox of a stack. Disposing of it stops it, and throws if it had ended unexpectedly. */
export interface SecondGateway extends AsyncDisposable {
  readonly gateway: ServiceUnderTest
  /** The address of its public listener. */
  readonly url: string
  /** The stack's provider acme, delivering here. */
  readonly provider: PaymentProvider
}

/** Starts a gateway beside that of a stack; it is ready when it resolves. `script`: the file that runs as the gateway. */
export async function startSecondGateway(
  stack: Stack,
  settings: Settings = {},
  script?: string,
): Promise<SecondGateway> {
  const place = { ...stack.place, gatewayPort: await stablePort(), adminPort: await stablePort() }
  const gateway = new ServiceUnderTest('gateway', { ...gatewaySettings(place), ...settings }, script)
  await gateway.start()
  const url = `http://127.0.0.1:${place.gatewayPort}`
  return {
    ...{ gateway, url },
    provider: stack.provider('acme', url),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      if (gateway.faults.length > 0) throw new Error(gateway.faults.join('\n'))
    },
  }
}
