import { useState } from 'react'
import { operator } from '../api/operator-client.ts'
import type { toEventFilter } from '../events/event-search.ts'
import { texts } from '../texts/texts.ts'
import { CountedReplayDialog } from './counted-replay-dialog.tsx'

/** The events of a replay: a filter, or ids. */
export type ReplayTarget = { readonly filter: ReturnType<typeof toEventFilter> } | { readonly ids: string[] }

interface ReplayDialogProps {
  readonly target: ReplayTarget
  /** Whether done events are included by default. */
  readonly includesDone: boolean
  readonly onClose: () => void
}

/** Counts the events of a replay first, asks for a reason and a rate, and starts it once. */
export function ReplayDialog({ target, includesDone, onClose }: ReplayDialogProps) {
  const [includeDone, setIncludeDone] = useState(includesDone)
  const handler = 'filter' in target ? target.filter.handler : undefined
  return (
    <CountedReplayDialog
      title={handler === undefined ? texts.replay.title : texts.handlers.replayTitle(handler)}
      selection={[target, includeDone]}
      ask={(how) => operator.events.replay.mutate({ ...target, includeDone, ...how })}
      describe={(count) => (count === 0 ? texts.replay.zero : texts.replay.counted(count))}
      submit={texts.replay.submit}
      onClose={onClose}
    >
      <label className="flex items-start gap-2">
        <input type="checkbox" checked={includeDone} onChange={({ target: box }) => setIncludeDone(box.checked)} />
        {texts.replay.includeDone}
      </label>
    </CountedReplayDialog>
  )
}
