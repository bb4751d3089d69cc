import type { OperatorRouter } from '@oncehook/gateway/start/operator-router'
import { createTRPCClient, httpLink, httpSubscriptionLink, splitLink } from '@trpc/client'
import type { inferRouterOutputs } from '@trpc/server'
import { EventStream } from './event-stream.ts'
import { currentSession, setSession } from './session.ts'

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
  // A token that has ended ends the session. Other refusals pass.
  const onRefused = (status: number): void => {
    if (status === 401) setSession(null)
  }
  const streamed = httpSubscriptionLink({
    url: URL_OF_API,
    EventSource: EventStream,
    eventSourceOptions: () => ({ fetch: (input, init) => fetch(input, init), headers, onRefused }),
  })
  return createTRPCClient<OperatorRouter>({
    links: [
      splitLink({
        condition: ({ type }) => type === 'subscription',
        true: streamed,
        false: httpLink({ url: URL_OF_API, headers }),
      }),
    ],
  })
}

/** The client of the session. */
export const operator = createOperatorClient(() => currentSession()?.token ?? '')
