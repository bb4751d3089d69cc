// The page of your handlers: for each its facts, the events that it wants and its secrets. `handler-actions.tsx` has the buttons.

import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { operator } from '../api/operator-client.ts'
import { DialogButton } from '../dialogs/dialog-button.tsx'
import { PauseControl } from '../dialogs/pause-control.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { EmptyNotice, Fact, Read, Section } from '../parts/section.tsx'
import { Instant } from '../parts/values.tsx'
import { endOf, SecretId } from '../providers/secrets-table.tsx'
import { texts } from '../texts/texts.ts'
import { BackfillDialog, DiscardButton } from './handler-actions.tsx'
import { type ListedHandler, useHandlers } from './use-handlers.tsx'

const REFRESH_MS = 5_000

export function HandlersPage() {
  const [said, setSaid] = useState('')
  return (
    <PageFrame title="Handlers">
      <p role="status">{said}</p>
      <Read query={useHandlers(REFRESH_MS)}>
        {(handlers) =>
          handlers.length === 0 ? (
            <EmptyNotice
              title="No handler can be configured"
              hint="Set HANDLERS or HANDLERS_FILE, if only to {}. docs/reference/handlers.md describes what a handler is. Check one with:"
              command="npm run oncehook -- contract verify --help"
            />
          ) : (
            handlers.map((handler) => <HandlerPart key={handler.name} handler={handler} onDiscarded={setSaid} />)
          )
        }
      </Read>
    </PageFrame>
  )
}

interface PartProps {
  readonly handler: ListedHandler
  readonly onDiscarded: (said: string) => void
}

function HandlerPart({ handler, onDiscarded }: PartProps) {
  const { name, by, paused, pausedBySetting, pending, answers, events, secrets } = handler
  return (
    <Section title={name}>
      <HandlerFacts handler={handler} />
      {by === 'removed' && (
        <p className="my-1 text-wait">
          It was removed from the setting. Its tasks are not sent. Add it again, or discard them.
        </p>
      )}
      {pausedBySetting && (
        <p className="my-1 text-wait">Paused by the setting: its tasks wait until "paused" is removed there.</p>
      )}
      {answers === false && (
        <p className="my-1 text-bad">
          It does not answer this gateway process. Only single tasks are sent until it does.
        </p>
      )}
      <div className="my-2 flex flex-wrap items-center gap-2">
        {(by !== 'removed' || paused !== null) && (
          <PauseControl
            kind="handlers"
            {...{ name, paused, waiting: pending }}
            pauseHint="Its tasks are still stored, and wait until somebody resumes it. Other handlers continue."
            pause={(reason) => operator.handlers.pause.mutate({ handler: name, reason })}
            resume={(reason) => operator.handlers.resume.mutate({ handler: name, reason })}
          />
        )}
        {(by === 'https' || by === 'trpc') && (
          <DialogButton text="Backfill…" draw={(close) => <BackfillDialog handler={name} onClose={close} />} />
        )}
        {by === 'removed' && <DiscardButton handler={name} onDiscarded={onDiscarded} />}
      </div>
      {events.length > 0 && <WantedEvents handler={handler} />}
      {secrets.length > 0 && (
        <div className="mt-3">
          <HandlerSecrets handler={handler} />
        </div>
      )}
    </Section>
  )
}

function HandlerFacts({ handler }: Pick<PartProps, 'handler'>) {
  const { name, by, host, pending, dead, oldestStoredAt, concurrency, ratePerSecond, orderBy, blockOnDead } = handler
  const tasks = (state: 'pending' | 'dead', count: number | null, className = '') => (
    <Link to="/events" search={{ handler: name, state }} className={className}>
      {texts.count(count)}
    </Link>
  )
  return (
    <p className="my-1 flex flex-wrap gap-x-6">
      <Fact name="Called by">
        {by === 'removed' ? 'nobody' : by} {host !== null && <code className="break-all">{host}</code>}
      </Fact>
      <Fact name="Pending">{tasks('pending', pending)}</Fact>
      <Fact name="Oldest stored">{oldestStoredAt && <Instant at={oldestStoredAt} />}</Fact>
      <Fact name="Dead">{tasks('dead', dead, dead === 0 ? '' : 'font-semibold text-bad')}</Fact>
      <Fact name="Calls at a time">{concurrency}</Fact>
      <Fact name="Events per second">{ratePerSecond && texts.number(ratePerSecond)}</Fact>
      {/* Its tasks of one value are sent one after the other. */}
      {orderBy !== null && (
        <Fact name="In order by">
          <code className="break-all">{orderBy}</code> {blockOnDead && '(a dead task holds up its line)'}
        </Fact>
      )}
      <Link to="/events" search={{ handler: name }}>
        Events
      </Link>
    </p>
  )
}

/** Which events a handler wants: those that match one row. */
function WantedEvents({ handler: { name, events } }: { readonly handler: ListedHandler }) {
  return (
    <PlainTable
      caption={`Events that ${name} wants`}
      heads={['Types', 'Provider', 'Conditions']}
      rows={events.map(({ types: patterns, provider, where = [] }, index) => ({
        key: `${index}`,
        cells: [
          <Codes key="types" texts={patterns} />,
          provider ?? 'any',
          where.every((conditions) => Object.keys(conditions).length === 0) ? (
            'none'
          ) : (
            <Codes key="where" texts={where.map(toConditions)} />
          ),
        ],
      }))}
    />
  )
}

/** One alternative of those of which one is enough. */
function toConditions(conditions: object): string {
  const parts = Object.entries(conditions).flatMap(([pointer, condition]: [string, unknown]) =>
    typeof condition === 'object' && condition !== null
      ? Object.entries(condition).map(([name, value]) => `${pointer} ${SIGNS[name] ?? name} ${JSON.stringify(value)}`)
      : [`${pointer} = ${JSON.stringify(condition)}`],
  )
  return parts.join(', ')
}

const SIGNS: Readonly<Record<string, string>> = { gt: '>', gte: '≥', lt: '<', lte: '≤' }

function Codes({ texts: codes }: { readonly texts: readonly string[] }) {
  return (
    <span className="inline-flex flex-wrap gap-x-3">
      {codes.map((code) => (
        <code key={code} className="break-all">
          {code}
        </code>
      ))}
    </span>
  )
}

const SECRET_STATES = { signs: 'signs', expiresSoon: 'signs, expires within 7 days', expired: 'expired' } as const

/** The secrets that sign the calls of a handler, by id: when each expires. */
function HandlerSecrets({ handler: { name, secrets } }: { readonly handler: ListedHandler }) {
  return (
    <PlainTable
      caption={`Secrets of ${name}`}
      heads={['Secret', 'Expires', 'State']}
      rows={secrets.map(({ id, notAfter }) => {
        const phase = endOf(notAfter, Date.now()) ?? 'signs'
        return {
          key: id,
          cells: [
            <SecretId key="id" id={id} />,
            <Instant key="ends" at={notAfter} />,
            <span key="state" className={phase === 'signs' ? 'text-good' : 'text-bad'}>
              {SECRET_STATES[phase]}
            </span>,
          ],
        }
      })}
    />
  )
}
