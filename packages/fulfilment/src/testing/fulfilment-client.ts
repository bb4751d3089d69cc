import { createTRPCClient, httpLink, type TRPCClient, TRPCClientError } from '@trpc/client'
import type { FulfilmentRouter } from '../router.ts'
import type { ErrorData } from '../trpc.ts'
import type { RunningFulfilment } from './start-fulfilment.ts'

/** A typed client of fulfilment for tests; `headers` go with every call. */
export function fulfilmentClient(
  fulfilment: Pick<RunningFulfilment, 'url' | 'token'>,
  headers: Readonly<Record<string, string>> = {},
): TRPCClient<FulfilmentRouter> {
  return createTRPCClient<FulfilmentRouter>({
    links: [
      httpLink({
        url: `${fulfilment.url}/trpc`,
        headers: async () => ({ authorization: `Bearer ${await fulfilment.token()}`, ...headers }),
      }),
    ],
  })
}

/** What a refused call was told; throws when it was not refused. */
export async function refusalOf(call: Promise<unknown>): Promise<ErrorData> {
  try {
    await call
  } catch (error) {
    if (error instanceof TRPCClientError) return error.data as ErrorData
    throw error
  }
  throw new Error('The call was not refused')
}
