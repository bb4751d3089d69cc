import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useMayDo } from '../api/use-may-do.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { QueryProblem } from '../frame/query-problem.tsx'
import { EmptyNotice } from '../parts/empty-notice.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Instant } from '../parts/instant.tsx'
import { Section } from '../parts/section.tsx'
import { texts } from '../texts/texts.ts'
import { BackfillDialog } from './backfill-dialog.tsx'
import { DiscardButton } from './discard-button.tsx'
import { HandlerPause } from './handler-pause.tsx'
import { HandlerSecrets } from './handler-secrets.tsx'
import { type ListedHandler, useHandlers } from './use-handlers.ts'
import { WantedEvents } from './wanted-events.tsx'

const REFRESH_MS = 5_000

/** Each handler: where it is, what it wants, its tasks, and its actions. */
export function HandlersPage() {
  const { data, error } = useHandlers(REFRESH_MS)
  const [said, setSaid] = useState('')
  const { emptyTitle, emptyHint } = texts.handlers
  return (
    <PageFrame title={texts.pages.handlers}>
      <QueryProblem error={error} />
      <p role="status">{said}</p>
      {data?.length === 0 && <EmptyNotice title={emptyTitle} hint={emptyHint} />}
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

function BackfillButton({ name }: { readonly name: string }) {
  const [isOpen, setOpen] = useState(false)
  const why = useMayDo('operate') ? null : texts.why.operate
  return (
    <>
      <GuardedButton text={texts.handlers.backfill} why={why} onClick={() => setOpen(true)} />
      {isOpen && <BackfillDialog handler={name} onClose={() => setOpen(false)} />}
    </>
  )
}
