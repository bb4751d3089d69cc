import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/use-may-do.ts'
import { ReasonDialog } from '../dialogs/reason-dialog.tsx'
import { GuardedButton } from '../parts/guarded-button.tsx'
import { texts } from '../texts/texts.ts'

/** The button that sends a test event of a provider, and the event that was sent last. */
export function SendTest(props: {
  readonly provider: string
  /** Whether the gateway can sign as this provider. */
  readonly takesTests: boolean
  /** What the button says. */
  readonly text: string
}) {
  const { provider, takesTests, text } = props
  const [isOpen, setOpen] = useState(false)
  const [sent, setSent] = useState<{ readonly id: string; readonly eventId: string } | null>(null)
  const mayOperate = useMayDo('operate')
  const send = async (reason: string): Promise<void> =>
    setSent(await operator.events.sendTest.mutate({ provider, reason }))
  const { title, hint, submit, stored } = texts.test
  return (
    <>
      <GuardedButton text={text} why={reasonAgainst(mayOperate, takesTests)} onClick={() => setOpen(true)} />
      {sent !== null && (
        <span role="status" className="order-last basis-full">
          {stored}{' '}
          <Link to="/events/$id" params={{ id: sent.id }} className="font-mono break-all">
            {sent.eventId}
          </Link>
        </span>
      )}
      {isOpen && (
        <ReasonDialog
          action={{ title: title(provider), hint, submit, act: send }}
          onDone={() => setOpen(false)}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

function reasonAgainst(mayOperate: boolean, takesTests: boolean): string | null {
  if (!mayOperate) return texts.why.operate
  return takesTests ? null : texts.why.notSignable
}
