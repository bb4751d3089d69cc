import type { OperatorRouter } from '@oncehook/gateway/start/operator-router'
import { createTRPCClient, httpLink } from '@trpc/client'
import type { inferRouterOutputs } from '@trpc/server'
import { currentSession } from './session.ts'

/** The answers of the operator API. */
export type Answers = inferRouterOutputs<OperatorRouter>

/** An event of a list. */
export type ListedEvent = Answers['events']['list']['items'][number]

/** An event with everything that is stored about it. */
export type EventDetails = Answers['events']['get']

const URL_OF_API = '/operator'

/** Creates a client of the operator API that sends this token. */
export function createOperatorClient(token: () => string) {
  const headers = () => ({ authorization: `Bearer ${token()}` })
  // By POST, because what somebody searches for must not be in a URL.
  return createTRPCClient<OperatorRouter>({ links: [httpLink({ url: URL_OF_API, headers, methodOverride: 'POST' })] })
}

/** The client of the session. */
export const operator = createOperatorClient(() => currentSession()?.token ?? '')
