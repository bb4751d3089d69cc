import type { OperatorRouter } from '@oncehook/gateway/operator/operator-router'
import { createTRPCClient, httpLink } from '@trpc/client'
import type { inferRouterOutputs } from '@trpc/server'
import { currentSession } from './session.ts'

/** The answers of the operator API. */
export type Answers = inferRouterOutputs<OperatorRouter>

/** An event of a list. */
export type ListedEvent = Answers['events']['list']['items'][number]

/** An event with all that is stored about it. */
export type EventDetails = Answers['events']['get']

/** Creates a client of the operator API that sends this token. */
export function createOperatorClient(token: () => string) {
  return createTRPCClient<OperatorRouter>({
    links: [httpLink({ url: '/operator', headers: () => ({ authorization: `Bearer ${token()}` }) })],
  })
}

/** The client of the session. */
export const operator = createOperatorClient(() => currentSession()?.token ?? '')
