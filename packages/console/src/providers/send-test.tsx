import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { operator } from '../api/operator-client.ts'
import { useMayDo } from '../api/use-may-do.ts'
import { ReasonDialog } from '../dialogs/reason-dialog.tsx'
import { HintedField } from '../forms/hinted-field.tsx'
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
  const send = async (reason: string, form: FormData): Promise<void> => {
    const orderId = String(form.get('order') ?? '').trim()
    const about = orderId === '' ? {} : { orderId }
    setSent(await operator.events.sendTest.mutate({ provider, reason, ...about }))
  }
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
          action={{ title: title(provider), hint, submit, fields: <OrderField />, act: send }}
          onDone={() => setOpen(false)}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

function OrderField() {
  return (
    <HintedField
      label={texts.test.order}
      hint={texts.test.orderHint}
      name="order"
      maxLength={128}
      autoComplete="off"
      spellCheck={false}
      className="input w-full"
    />
  )
}

function reasonAgainst(mayOperate: boolean, takesTests: boolean): string | null {
  if (!mayOperate) return texts.why.operate
  return takesTests ? null : texts.why.notSignable
}
