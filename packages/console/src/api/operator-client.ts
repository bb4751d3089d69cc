import type { OperatorRouter } from '@oncehook/gateway/start/operator-router'
import { createTRPCClient, httpLink, type TRPCLink } from '@trpc/client'
import type { inferRouterOutputs } from '@trpc/server'
import { currentSession } from './session.ts'

export type Answers = inferRouterOutputs<OperatorRouter>

export type ListedEvent = Answers['events']['list']['items'][number]

/** An event with the tasks of all its handlers. */
export type FeedEvent = Answers['events']['feed']['items'][number]

export type EventDetails = Answers['events']['get']

// A page that does not know its session yet may ask for it.
const headers = () => ({ 'oncehook-session': currentSession()?.id ?? '*' })

// No query takes the gateway as long. A gateway that is frozen accepts calls and never answers.
const QUERY_MS = 8_000

const withinTime: TRPCLink<OperatorRouter> =
  () =>
  ({ next, op }) => {
    if (op.type !== 'query') return next(op)
    const signal = AbortSignal.timeout(QUERY_MS)
    return next({ ...op, signal: op.signal ? AbortSignal.any([op.signal, signal]) : signal })
  }

/** The operator API. The browser adds the cookie of the session, and this header names the session. */
export const operator = createTRPCClient<OperatorRouter>({
  // By POST, because what somebody searches for must not be in a URL.
  links: [withinTime, httpLink({ url: '/operator', headers, methodOverride: 'POST' })],
})
