import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { ReasonDialog, type ReasonedAction } from '../dialogs/reason-dialog.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Loading, Section } from '../parts/section.tsx'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'

type ListedSession = Answers['sessions']['list'][number]

/** Who is signed in, by operator: one's own sessions, and those of others if one may end them. */
export function SessionsPage() {
  const { data, error, refetch } = useQuery({ queryKey: ['sessions'], queryFn: () => operator.sessions.list.query() })
  const [action, setAction] = useState<ReasonedAction | null>(null)
  return (
    <PageFrame title={texts.pages.sessions}>
      <QueryProblem error={error} retry={() => void refetch()} />
      {data === undefined && error === null && <Loading />}
      {[...Map.groupBy(data ?? [], (session) => session.operator)].map(([name, sessions]) => (
        <Section key={name} title={name}>
          <SessionTable name={name} sessions={sessions} end={setAction} />
        </Section>
      ))}
      {action !== null && <ReasonDialog action={action} changes={['sessions']} onClose={() => setAction(null)} />}
    </PageFrame>
  )
}

function SessionTable(props: {
  readonly name: string
  readonly sessions: readonly ListedSession[]
  readonly end: (action: ReasonedAction) => void
}) {
  const { name, sessions, end } = props
  const { session, opened, used, ends, current, endOne, endOneTitle, endAll, endAllTitle, endHint } = texts.sessions
  const ask = (title: string, which: { id: string } | { operator: string }): void =>
    end({ title, hint: endHint, submit: title, act: (reason) => operator.sessions.end.mutate({ ...which, reason }) })
  return (
    <>
      <PlainTable
        caption={texts.sessions.of(name)}
        heads={[session, opened, used, ends, texts.event.actions]}
        rows={sessions.map(({ id, isCurrent, openedAt, usedAt, endsAt }) => ({
          key: id,
          cells: [
            <span key="id">
              <code className="font-mono">{id}</code> {isCurrent && <strong>{current}</strong>}
            </span>,
            <Instant key="opened" at={openedAt} />,
            <Instant key="used" at={usedAt} />,
            <Instant key="ends" at={endsAt} />,
            <button key="end" type="button" className="button" onClick={() => ask(endOneTitle(id), { id })}>
              {endOne} <span className="sr-only">{id}</span>
            </button>,
          ],
        }))}
      />
      <button type="button" className="button mt-2" onClick={() => ask(endAllTitle(name), { operator: name })}>
        {endAll(name)}
      </button>
    </>
  )
}
