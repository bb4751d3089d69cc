import { useEffect, useEffectEvent, useState } from 'react'
import { codeOf } from '../api/describe-problem.ts'
import { type ListedEvent, operator } from '../api/operator-client.ts'
import { setSession } from '../api/session.ts'
import { useIsVisible } from '../frame/browser.ts'
import { type EventSearch, isLive, toTailInput } from './event-search.ts'

/**
 * How the list follows changes. `off`: the list is a search that is not updated. `crowded`, `share`: too many readers follow
 * changes, in total or for this operator.
 */
export type TailState = 'off' | 'starting' | 'live' | 'reconnecting' | Refused

type Refused = 'crowded' | 'share'

/** Events that have changed. */
export interface ChangedEvents {
  readonly items: readonly ListedEvent[]
  /** How many changes are missing. Null: unknown. */
  readonly leftOut: number | null
  /** Whether this is the first message of a connection. */
  readonly isFirst: boolean
}

const RETRY_MS = 10_000
const REFUSED: ReadonlyMap<string, Refused> = new Map([
  ['tail_crowded', 'crowded'],
  ['tail_share_used', 'share'],
])

function isRefused(state: TailState): boolean {
  return state === 'crowded' || state === 'share'
}

/**
 * Follows the events that match while the page is visible: a browser opens six connections to a gateway, and hidden tabs
 * would take them from the visible one. The search must not change while the component is mounted.
 */
export function useEventTail(search: EventSearch, tell: (changed: ChangedEvents) => void): TailState {
  const [followed] = useState(search)
  const [state, setState] = useState<TailState>(isLive(followed) ? 'starting' : 'off')
  const [attempt, setAttempt] = useState(0)
  const isVisible = useIsVisible()
  const onMessage = useEffectEvent(tell)
  useEffect(() => {
    if (!isLive(followed)) return
    if (!isVisible) {
      setState('starting')
      return
    }
    let isFirst = true
    let retry: number | undefined
    const breakOff = (error: unknown): void => {
      isFirst = true
      const refused = REFUSED.get(codeOf(error))
      // The connection ends after this refusal, which must not hide it.
      setState((known) => refused ?? (isRefused(known) ? known : 'reconnecting'))
    }
    const tail = operator.events.tail.subscribe(toTailInput(followed), {
      onData({ data: { items, counts, skipped } }) {
        const all = counts.reduce((sum, { count }) => sum + count, 0)
        setState('live')
        onMessage({ items, leftOut: skipped === null ? null : all - items.length + skipped, isFirst })
        isFirst = false
      },
      onConnectionStateChange({ state: connection, error }) {
        if (connection === 'connecting' && error !== null) breakOff(error)
      },
      // The stream connects again automatically, unless the gateway has refused the call.
      onError(error) {
        if (codeOf(error) === 'unauthenticated') setSession(null)
        breakOff(error)
        retry = window.setTimeout(() => setAttempt(attempt + 1), RETRY_MS)
      },
    })
    return () => {
      window.clearTimeout(retry)
      tail.unsubscribe()
    }
  }, [followed, attempt, isVisible])
  return state
}
