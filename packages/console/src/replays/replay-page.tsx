import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { type Answers, operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/use-may-do.ts'
import { useSingleAction } from '../api/use-single-action.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { QueryProblem } from '../frame/query-problem.tsx'
import { Facts } from '../parts/facts.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { Instant } from '../parts/instant.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'

const REFRESH_MS = 1_000

/** The progress of one replay. */
export function ReplayPage() {
  const { id: replayId } = useParams({ from: '/replays/$id' })
  const { data, error, refetch } = useQuery({
    queryKey: ['replays', 'get', replayId],
    queryFn: () => operator.replays.get.query({ replayId }),
    refetchInterval: REFRESH_MS,
  })
  return (
    <PageFrame title={texts.pages.replay}>
      <QueryProblem error={error} retry={() => void refetch()} />
      {data === undefined && error === null && <p role="status">{texts.frame.loading}</p>}
      {data !== undefined && <Progress replayId={replayId} replay={data} onCancelled={() => void refetch()} />}
    </PageFrame>
  )
}

function Progress(props: {
  readonly replayId: string
  readonly replay: Answers['replays']['get']
  readonly onCancelled: () => void
}) {
  const { replayId, replay, onCancelled } = props
  const mayOperate = useMayDo('operate')
  const cancelling = useSingleAction({
    act: (id: string) => operator.replays.cancel.mutate({ replayId: id }),
    onDone: onCancelled,
  })
  const progress = texts.replay.progress(replay.started, replay.matched)
  return (
    <>
      <p role="status">
        <strong>{texts.replay.state[replay.state]}</strong> · {progress}
      </p>
      <progress
        className="my-2 h-3 w-full max-w-xl"
        aria-label={progress}
        max={replay.matched || 1}
        value={replay.started}
      />
      {replay.state === 'running' && (
        <p className="my-2">
          <GuardedButton
            text={texts.replay.cancel}
            why={mayOperate ? null : texts.why.operate}
            onClick={() => cancelling.start(replayId)}
          />
        </p>
      )}
      {cancelling.error !== null && <ProblemNotice error={cancelling.error} />}
      <Facts
        items={[
          [texts.event.by, replay.by],
          [texts.action.reason, replay.reason],
          [texts.replay.startedAt, <Instant key="s" at={replay.startedAt} />],
          [texts.replay.finishedAt, replay.finishedAt === null ? null : <Instant key="f" at={replay.finishedAt} />],
          [texts.replay.matched, replay.matched],
          [texts.replay.startedCount, replay.started],
          [texts.replay.done, replay.done],
          [texts.replay.failed, replay.failed],
          [texts.replay.notRead, replay.notRead === 0 ? null : replay.notRead],
        ]}
      />
    </>
  )
}
