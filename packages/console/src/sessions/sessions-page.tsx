import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { ReasonDialog, type ReasonedAction } from '../dialogs/reason-dialog.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { Read, Section } from '../parts/section.tsx'
import { Instant } from '../parts/values.tsx'

type ListedSession = Answers['sessions']['list'][number]

/** Who is signed in, by operator: one's own sessions, and those of others if one may end them. */
export function SessionsPage() {
  const query = useQuery({ queryKey: ['sessions'], queryFn: () => operator.sessions.list.query() })
  const [action, setAction] = useState<ReasonedAction | null>(null)
  return (
    <PageFrame title="Sessions">
      <Read query={query}>
        {(all) =>
          [...Map.groupBy(all, (session) => session.operator)].map(([name, sessions]) => (
            <Section key={name} title={name}>
              <SessionTable name={name} sessions={sessions} end={setAction} />
            </Section>
          ))
        }
      </Read>
      {action !== null && <ReasonDialog {...action} changes={['sessions']} onClose={() => setAction(null)} />}
    </PageFrame>
  )
}

function SessionTable(props: {
  readonly name: string
  readonly sessions: readonly ListedSession[]
  readonly end: (action: ReasonedAction) => void
}) {
  const { name, sessions, end } = props
  const ask = (title: string, which: { id: string } | { operator: string }): void => {
    const hint = 'The browser must sign in again at its next call. The token of the operator stays valid.'
    end({ title, hint, submit: title, act: (reason) => operator.sessions.end.mutate({ ...which, reason }) })
  }
  const endAll = `End all sessions of ${name}`
  return (
    <>
      <PlainTable
        caption={`Sessions of ${name}`}
        heads={['Session', 'Opened', 'Last used', 'Ends', 'Actions']}
        rows={sessions.map(({ id, isCurrent, openedAt, usedAt, endsAt }) => ({
          key: id,
          cells: [
            <span key="id">
              <code>{id}</code> {isCurrent && <strong>this one</strong>}
            </span>,
            <Instant key="opened" at={openedAt} />,
            <Instant key="used" at={usedAt} />,
            <Instant key="ends" at={endsAt} />,
            <button key="end" type="button" className="button" onClick={() => ask(`End the session ${id}`, { id })}>
              End… <span className="sr-only">{id}</span>
            </button>,
          ],
        }))}
      />
      <button type="button" className="button mt-2" onClick={() => ask(endAll, { operator: name })}>
        {endAll}…
      </button>
    </>
  )
}
