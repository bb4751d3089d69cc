// The page of your handlers: for each its facts, the events that it wants and its secrets. `handler-actions.tsx` has the buttons.

import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { PageFrame } from '../frame/page-frame.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { EmptyNotice, Loading, Section } from '../parts/section.tsx'
import { Instant } from '../parts/values.tsx'
import { endOf } from '../providers/secrets-table.tsx'
import { texts } from '../texts/texts.ts'
import { BackfillButton, DiscardButton, HandlerPause } from './handler-actions.tsx'
import { type ListedHandler, useHandlers } from './use-handlers.tsx'

const REFRESH_MS = 5_000

/** Each handler: where it is, what it wants, its tasks, and its actions. */
export function HandlersPage() {
  const { data, error, refetch } = useHandlers(REFRESH_MS)
  const [said, setSaid] = useState('')
  const { emptyTitle, emptyHint, emptyCommand } = texts.handlers
  return (
    <PageFrame title={texts.pages.handlers}>
      <QueryProblem error={error} retry={() => void refetch()} />
      {data === undefined && error === null && <Loading />}
      <p role="status">{said}</p>
      {data?.length === 0 && <EmptyNotice title={emptyTitle} hint={emptyHint} command={emptyCommand} />}
      {data?.map((handler) => (
        <HandlerPart key={handler.name} handler={handler} onDiscarded={setSaid} />
      ))}
    </PageFrame>
  )
}

interface PartProps {
  readonly handler: ListedHandler
  readonly onDiscarded: (said: string) => void
}

function HandlerPart({ handler, onDiscarded }: PartProps) {
  const { name, by, pausedBySetting, answers, events, secrets } = handler
  return (
    <Section title={name}>
      <HandlerFacts handler={handler} />
      {by === 'removed' && <p className="my-1 text-wait">{texts.handlers.removed}</p>}
      {pausedBySetting && <p className="my-1 text-wait">{texts.handlers.pausedBySetting}</p>}
      {answers === false && <p className="my-1 text-bad">{texts.handlers.doesNotAnswer}</p>}
      <div className="my-2 flex flex-wrap items-center gap-2">
        {(by !== 'removed' || handler.paused !== null) && <HandlerPause handler={handler} />}
        {(by === 'https' || by === 'trpc') && <BackfillButton name={name} />}
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
  const { name, by, host, pending, dead, oldestStoredAt, concurrency, ratePerSecond } = handler
  const { calledBy, concurrency: atOnce, rate } = texts.handlers
  return (
    <p className="my-1 flex flex-wrap gap-x-6">
      <Fact name={calledBy}>
        {texts.handlers.by[by]} {host !== null && <code className="font-mono break-all">{host}</code>}
      </Fact>
      <Fact name={texts.overview.pending}>
        <Link to="/events" search={{ handler: name, state: 'pending' }}>
          {texts.overview.count(pending)}
        </Link>
      </Fact>
      {oldestStoredAt !== null && (
        <Fact name={texts.handlers.oldest}>
          <Instant at={oldestStoredAt} />
        </Fact>
      )}
      <Fact name={texts.overview.dead}>
        <Link
          to="/events"
          search={{ handler: name, state: 'dead' }}
          className={dead === 0 ? '' : 'font-semibold text-bad'}
        >
          {texts.overview.count(dead)}
        </Link>
      </Fact>
      {concurrency !== null && <Fact name={atOnce}>{concurrency}</Fact>}
      {ratePerSecond !== null && <Fact name={rate}>{texts.number(ratePerSecond)}</Fact>}
      <Order handler={handler} />
      <Link to="/events" search={{ handler: name }}>
        {texts.pages.events}
      </Link>
    </p>
  )
}

/** By which value its tasks are sent one after the other. */
function Order({ handler: { orderBy, blockOnDead } }: Pick<PartProps, 'handler'>) {
  if (orderBy === null) return null
  return (
    <Fact name={texts.handlers.orderBy}>
      <code className="font-mono break-all">{orderBy}</code> {blockOnDead && texts.handlers.blockOnDead}
    </Fact>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <span>
      <span className="text-quiet">{name}</span> {children}
    </span>
  )
}

/** Which events a handler wants: those that match one row. */
function WantedEvents({ handler: { name, events } }: { readonly handler: ListedHandler }) {
  const { wantedBy, types, conditions, anyProvider, noCondition } = texts.handlers
  return (
    <PlainTable
      caption={wantedBy(name)}
      heads={[types, texts.events.provider, conditions]}
      rows={events.map(({ types: patterns, provider, where = [] }, index) => ({
        key: `${index}`,
        cells: [
          <Codes key="types" texts={patterns} />,
          provider ?? anyProvider,
          where.every((conditions) => Object.keys(conditions).length === 0) ? (
            noCondition
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
  return Object.entries(conditions).map(toCondition).join(', ')
}

function toCondition([pointer, condition]: [string, unknown]): string {
  if (typeof condition !== 'object' || condition === null) return `${pointer} = ${JSON.stringify(condition)}`
  const parts = Object.entries(condition).map(([name, value]) => `${SIGNS[name] ?? name} ${JSON.stringify(value)}`)
  return parts.map((part) => `${pointer} ${part}`).join(', ')
}

const SIGNS: Readonly<Record<string, string>> = { gt: '>', gte: '≥', lt: '<', lte: '≤' }

function Codes({ texts: codes }: { readonly texts: readonly string[] }) {
  return (
    <span className="flex flex-wrap gap-x-3">
      {codes.map((code) => (
        <code key={code} className="font-mono break-all">
          {code}
        </code>
      ))}
    </span>
  )
}

/** The secrets that sign the calls of a handler, by id: when each expires. */
function HandlerSecrets({ handler: { name, secrets } }: { readonly handler: ListedHandler }) {
  const { secretsOf, secret, ends, state } = texts.providers
  return (
    <PlainTable
      caption={secretsOf(name)}
      heads={[secret, ends, state]}
      rows={secrets.map(({ id, notAfter }) => {
        const phase = endOf(notAfter, Date.now()) ?? 'signs'
        return {
          key: id,
          cells: [
            <code key="id" className="inline-block min-w-[8ch] font-mono">
              {id}
            </code>,
            <Instant key="ends" at={notAfter} />,
            <span key="state" className={phase === 'signs' ? 'text-good' : 'text-bad'}>
              {texts.handlers.secretStates[phase]}
            </span>,
          ],
        }
      })}
    />
  )
}
