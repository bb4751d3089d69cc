import type { TrpcErrorData } from '@oncehook/kernel/rpc/trpc-errors'
import { withServiceToken } from '@oncehook/kernel/secrets/service-token'
import { createTRPCClient, httpLink, type TRPCClient, TRPCClientError } from '@trpc/client'
import type { FulfilmentRouter } from '../router.ts'
import type { RunningFulfilment } from './start-fulfilment.ts'

/** Creates a typed client of fulfilment for tests. `headers` are sent with every call. */
export function fulfilmentClient(
  fulfilment: Pick<RunningFulfilment, 'url' | 'tokens'>,
  headers: Readonly<Record<string, string>> = {},
): TRPCClient<FulfilmentRouter> {
  const call = withServiceToken(globalThis.fetch, fulfilment.tokens)
  return createTRPCClient<FulfilmentRouter>({
    links: [
      httpLink({
        url: `${fulfilment.url}/trpc`,
        headers,
        fetch: (input, init) => call(String(input), init as RequestInit),
      }),
    ],
  })
}

/** Resolves to the error of a refused call. Throws if it was not refused. */
export async function refusalOf(call: Promise<unknown>): Promise<TrpcErrorData> {
  try {
    await call
  } catch (error) {
    if (error instanceof TRPCClientError) return error.data as TrpcErrorData
    throw error
  }
  throw new Error('The call was not refused')
}
