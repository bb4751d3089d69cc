import type { OperatorRouter } from '@oncehook/gateway/start/operator-router'
import { createTRPCClient, httpLink } from '@trpc/client'
import type { inferRouterOutputs } from '@trpc/server'
import { currentSession } from './session.ts'

export type Answers = inferRouterOutputs<OperatorRouter>

export type ListedEvent = Answers['events']['list']['items'][number]

export type EventDetails = Answers['events']['get']

const URL_OF_API = '/operator'

// A page that does not know its session yet may ask for it.
const headers = () => ({ 'oncehook-session': currentSession()?.id ?? '*' })

/** The operator API. The browser adds the cookie of the session, and this header names the session. */
export const operator = createTRPCClient<OperatorRouter>({
  // By POST, because what somebody searches for must not be in a URL.
  links: [httpLink({ url: URL_OF_API, headers, methodOverride: 'POST' })],
})
