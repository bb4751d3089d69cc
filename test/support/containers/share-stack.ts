import { afterAll, type TestContext } from 'vitest'
import { WebhookSource } from '../load/webhook-source.ts'
import {
  type ContainerStack,
  type ContainerStackOptions,
  containerImages,
  type ProviderHabits,
  startContainerStack,
} from './container-stack.ts'

/** A stack for all tests of a file, and the one source of all their deliveries: its log is what the closing check wants. */
export interface SharedStack {
  readonly stack: ContainerStack
  readonly source: WebhookSource
}

/** How much a file's stack has of each, and what its source sends a second. */
export interface SharedStackOptions extends Omit<ContainerStackOptions, 'images'> {
  readonly source: ProviderHabits & { readonly perSecond: number }
}

/** Answers a function that starts the stack when first called; it is disposed of after the last test of the file. */
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
