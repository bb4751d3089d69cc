import { useState } from 'react'
import { operator } from '../api/operator-client.ts'
import { CountedReplayDialog } from '../replays/counted-replay-dialog.tsx'
import { texts } from '../texts/texts.ts'

const DAY_MS = 86_400_000
const ALL = '0'

/** Counts the stored events that a handler may want, and gives it a task of each from a chosen time on. */
export function BackfillDialog({ handler, onClose }: { readonly handler: string; readonly onClose: () => void }) {
  const [from, setFrom] = useState<string | null>(null)
  const { backfillTitle, backfillCounted, backfillZero, backfillSubmit } = texts.handlers
  const filter = from === null ? {} : { from }
  return (
    <CountedReplayDialog
      title={backfillTitle(handler)}
      selection={['backfill', handler, from]}
      ask={(how) => operator.handlers.backfill.mutate({ handler, filter, ...how })}
      describe={(count) => (count === 0 ? backfillZero : backfillCounted(count))}
      submit={backfillSubmit}
      onClose={onClose}
    >
      <SpanField onChoose={setFrom} />
    </CountedReplayDialog>
  )
}

/** How far back the stored events go. */
function SpanField({ onChoose }: { readonly onChoose: (from: string | null) => void }) {
  return (
    <label className="my-3 block">
      <span className="block font-semibold">{texts.events.time}</span>
      <select
        className="input"
        defaultValue={ALL}
        onChange={({ target: { value } }) =>
          onChoose(value === ALL ? null : new Date(Date.now() - Number(value) * DAY_MS).toISOString())
        }
      >
        {Object.entries(texts.handlers.backfillSpans).map(([days, text]) => (
          <option key={days} value={days}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
