import { Link } from '@tanstack/react-router'
import type { EventDetails } from '../api/operator-client.ts'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'

/** What an operator should do about an event now, and why. */
export function NextStep({ event }: { readonly event: EventDetails }) {
  const { lastError, state } = event
  return (
    <>
      {state !== 'done' && lastError !== null && (
        <p className="mt-1 wrap-anywhere">
          <span className="text-quiet">{texts.event.lastError}</span>{' '}
          <code className="font-mono">{lastError.code}</code>
          {': '}
          {lastError.message}
        </p>
      )}
      <p className="mt-1">
        <strong>{texts.event.next}</strong> <Step event={event} />
      </p>
    </>
  )
}

function Step({ event }: { readonly event: EventDetails }) {
  const { state, reason, closed } = event
  const { advice } = texts
  if (state === 'pending') return <Waiting event={event} />
  if (state === 'processing') return advice.processing
  if (state === 'done') return advice.done
  if (state === 'closed') return `${texts.event.closedBy(closed?.by ?? '')}: ${closed?.reason ?? ''}. ${advice.closed}`
  const known = ADVICE.get(reason ?? '')
  return known ?? (state === 'dead' ? advice.dead : advice.unhandled)
}

/** The reasons come from the gateway, and from handlers, which choose their own. */
const ADVICE: ReadonlyMap<string, string> = new Map(Object.entries(texts.advice.reasons))

function Waiting({ event: { waitsFor, notSent, dueAt } }: { readonly event: EventDetails }) {
  if (!waitsFor && !notSent) {
    return (
      <>
        {texts.advice.due} <Instant at={dueAt} />
      </>
    )
  }
  return (
    <>
      {notSent && (
        <>
          <span>{texts.event.notSentBecause[notSent]}</span> {texts.advice.notSent[notSent]}{' '}
        </>
      )}
      {waitsFor && (
        <>
          {texts.event.waitsFor}{' '}
          <Link to="/events/$id" params={{ id: waitsFor }} className="break-all">
            {texts.event.earlierTask}
          </Link>
          . {texts.advice.waits}
        </>
      )}
    </>
  )
}
