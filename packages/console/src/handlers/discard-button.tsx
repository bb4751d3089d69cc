import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/use-may-do.ts'
import { ReasonDialog } from '../dialogs/reason-dialog.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { texts } from '../texts/texts.ts'

/** The button that settles all tasks of a handler that was removed from the setting. */
export function DiscardButton(props: { readonly handler: string; readonly onDiscarded: (said: string) => void }) {
  const { handler, onDiscarded } = props
  const [isOpen, setOpen] = useState(false)
  const client = useQueryClient()
  const why = useMayDo('operate') ? null : texts.why.operate
  const { discard, discardTitle, discardHint: hint, discardSubmit: submit, discarded } = texts.handlers
  const act = async (reason: string): Promise<void> => {
    const { count, held } = await discardAll(handler, reason)
    onDiscarded(discarded(handler, count, held))
  }
  const done = (): void => {
    setOpen(false)
    for (const name of ['handlers', 'overview', 'events']) void client.invalidateQueries({ queryKey: [name] })
  }
  return (
    <>
      <GuardedButton text={discard} why={why} onClick={() => setOpen(true)} />
      {isOpen && (
        <ReasonDialog
          action={{ title: discardTitle(handler), hint, submit, act }}
          onDone={done}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

/** Repeats the call until no task is left: one call takes some seconds at most. */
async function discardAll(handler: string, reason: string): Promise<{ readonly count: number; readonly held: number }> {
  let count = 0
  for (;;) {
    const { discarded, more, held } = await operator.handlers.discard.mutate({ handler, reason })
    count += discarded
    if (!more) return { count, held }
  }
}
