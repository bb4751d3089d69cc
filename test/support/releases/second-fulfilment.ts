import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { ServiceUnderTest, type Settings } from '../stack/service-under-test.ts'
import type { Stack } from '../stack/stack.ts'
import { fulfilmentSettings } from '../stack/stack-settings.ts'

/** One more fulfilment on the orders of a stack. Disposing of it stops it, and throws if it had ended unexpectedly. */
export interface SecondFulfilment extends AsyncDisposable {
  readonly fulfilment: ServiceUnderTest
  readonly port: number
}

/** Starts a fulfilment of the present version beside that of a stack; it is ready when it resolves. */
export async function startSecondFulfilment(stack: Stack, settings: Settings = {}): Promise<SecondFulfilment> {
  const port = await stablePort()
  const place = { ...stack.place, fulfilmentPort: port }
  const fulfilment = new ServiceUnderTest('fulfilment', { ...fulfilmentSettings(place), ...settings })
  await fulfilment.start()
  return {
    ...{ fulfilment, port },
    async [Symbol.asyncDispose]() {
      await fulfilment[Symbol.asyncDispose]()
      const found = [...fulfilment.faults, ...stack.leaksIn(fulfilment.written)]
      if (found.length > 0) throw new Error(found.join('\n'))
    },
  }
}
