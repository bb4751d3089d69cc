// The life of an event, from its receipt to its receipt for the customer: what happened when, and how long after the step before.

import type { ReactNode } from 'react'
import type { EventDetails } from '../api/operator-client.ts'
import { texts } from '../texts/texts.ts'
import { LOOK_OF_RECEIPT, LOOKS, useReceipts } from './order-facts.tsx'

interface Step {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly what: string
  readonly details?: ReactNode
  readonly look: keyof typeof LOOKS
}

/** Each step with its time, and the time since the one before. */
export function EventLife({ event }: { readonly event: EventDetails }) {
  const { orderId, handler, outcome } = event
  const hasPaid = orderId !== '' && handler === 'fulfilment' && outcome?.kind === 'applied'
  return hasPaid ? <LifeWithReceipt event={event} /> : <Steps steps={stepsOf(event)} />
}

/** With the receipt of the order that the event has paid. */
function LifeWithReceipt({ event }: { readonly event: EventDetails }) {
  const receipts = useReceipts(event.orderId).map(
    ({ sentAt, paidAt, state, lastError }): Step => ({
      ...{ at: Date.parse(sentAt ?? paidAt), what: 'receipt', look: LOOK_OF_RECEIPT[state] },
      details: [state, ...(lastError === null ? [] : [lastError.code])].join(', '),
    }),
  )
  return <Steps steps={[...stepsOf(event), ...receipts]} />
}

function Steps({ steps: given }: { readonly steps: readonly Step[] }) {
  const sorted = given.toSorted((one, other) => one.at - other.at)
  const steps = sorted.map((step, index) => ({ ...step, key: `${index}`, before: sorted[index - 1]?.at ?? null }))
  return (
    <ol aria-label="Attempts" className="my-2 border-l-2 border-line pl-4">
      {steps.map(({ key, at, what, details, look, before }) => (
        <li key={key} className="relative flex flex-wrap gap-x-3 py-1">
          <span aria-hidden="true" className={`absolute -left-6 w-4 bg-ground text-center ${LOOKS[look].colour}`}>
            {LOOKS[look].mark}
          </span>
          <time dateTime={new Date(at).toISOString()} className="text-quiet tabular-nums">
            {texts.time.exact(new Date(at))}
          </time>
          <span className="font-semibold">{what}</span>
          {details !== undefined && <span className="min-w-0 wrap-anywhere">{details}</span>}
          {before !== null && <span className="text-quiet tabular-nums">+{texts.number(at - before)} ms</span>}
        </li>
      ))}
    </ol>
  )
}

function stepsOf(event: EventDetails): readonly Step[] {
  const { closed, settledAt, state, outcome } = event
  const version = outcome?.version ? `version ${outcome.version} of the order` : ''
  return [
    {
      at: Date.parse(event.receivedAt),
      what: 'received',
      details:
        event.secretId && `signed with ${event.secretId}, stored before it was answered, request ${event.requestId}`,
      look: 'good',
    },
    ...event.attempts.flatMap(({ at, ms, outcome: kind, code, message }): readonly Step[] => [
      { at: Date.parse(at) - ms, what: 'sent', look: 'quiet' },
      {
        ...{ at: Date.parse(at), what: kind, look: code === null ? 'good' : kind === 'dead' ? 'bad' : 'wait' },
        details: code === null ? (at === settledAt ? version : '') : `${code}: ${message ?? ''}`,
      },
    ]),
    // The last attempt has settled it, unless nobody was called.
    ...(settledAt === null || event.attempts.at(-1)?.at === settledAt ? [] : [settledStep(event, settledAt)]),
    ...event.replays.map(
      ({ at, by, reason, notRead: unread }): Step => ({
        ...{ at: Date.parse(at), what: 'replayed', look: 'quiet' },
        details: [`${by}: ${reason}`, ...(unread === null ? [] : [`Body not readable: ${unread}`])].join('. '),
      }),
    ),
    ...(closed === null || state !== 'closed'
      ? []
      : [
          { at: Date.parse(closed.at), what: `closed by ${closed.by}`, details: closed.reason, look: 'quiet' } as const,
        ]),
  ]
}

function settledStep({ state, reason }: EventDetails, at: string): Step {
  const look = state === 'done' ? 'good' : state === 'dead' ? 'bad' : 'quiet'
  return { at: Date.parse(at), what: state, details: reason, look }
}
