import { afterAll, type TestContext } from 'vitest'
import { WebhookSource } from '../load/webhook-source.ts'
import {
  type ContainerStack,
  type ContainerStackOptions,
  containerImages,
  type ProviderHabits,
  startContainerStack,
} from './container-stack.ts'

/** A stack for all tests of a file, and the only source of their deliveries. The closing check needs its log. */
export interface SharedStack {
  readonly stack: ContainerStack
  readonly source: WebhookSource
}

/** The number of each service in a file's stack, and the rate of its source. */
export interface SharedStackOptions extends Omit<ContainerStackOptions, 'images'> {
  readonly source: ProviderHabits & { readonly perSecond: number }
}

/** Returns a function that starts the stack when first called. The stack ends after the last test of the file. */
export function shareStack({ source, ...options }: SharedStackOptions): (context: TestContext) => Promise<SharedStack> {
  const resources = new AsyncDisposableStack()
  let shared: Promise<SharedStack> | undefined
  afterAll(() => resources.disposeAsync(), 120_000)
  const start = async (context: TestContext): Promise<SharedStack> => {
    const stack = resources.use(await startContainerStack({ ...options, images: await containerImages(context) }))
    const { perSecond, ...habits } = source
    const pace = { perSecond, parallel: 100 }
    return { stack, source: resources.use(new WebhookSource(stack.provider(habits), pace)) }
  }
  return (context) => {
    shared ??= start(context)
    return shared
  }
}
