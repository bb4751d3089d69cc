// The dialog for an action that the audit log records with a reason. Its call is made once, however fast somebody clicks.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef } from 'react'
import type { GuardedButtonProps } from '../parts/buttons.tsx'
import { HintedField } from '../parts/hinted-field.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { DialogButton } from './dialog-button.tsx'
import { Modal } from './modal.tsx'

export interface ReasonedAction {
  readonly title: string
  readonly hint: ReactNode
  readonly submit: string
  /** Whether it is not possible yet, or at all. */
  readonly isBusy?: boolean
  /** Further fields of the form, after the reason. */
  readonly fields?: ReactNode
  readonly act: (reason: string, form: FormData) => Promise<unknown>
  /** The first names of the queries that show what it changes. */
  readonly changes?: readonly string[]
}

interface ReasonDialogProps extends ReasonedAction {
  readonly onClose: () => void
}

/** Asks for a reason and makes the call once. When it has succeeded, closes and reads again what has changed. */
export function ReasonDialog(props: ReasonDialogProps) {
  const { title, hint, submit, isBusy = false, fields, act, changes = [], onClose } = props
  const client = useQueryClient()
  const acting = useSingleAction(
    (form: FormData) => act(String(form.get('reason') ?? ''), form),
    () => {
      onClose()
      for (const name of changes) void client.invalidateQueries({ queryKey: [name] })
    },
  )
  return (
    <Modal title={title} onClose={onClose} form={{ submit, isBusy: isBusy || acting.isBusy, send: acting.start }}>
      <div>{hint}</div>
      <HintedField
        {...{ name: 'reason', required: true, minLength: 3, maxLength: 200 }}
        label="Reason"
        hint="3 to 200 characters, for readers of the audit log"
      />
      {fields}
      {acting.error !== null && <ProblemNotice error={acting.error} />}
    </Modal>
  )
}

/** The button of an action. */
export function ActionButton(action: ReasonedAction & GuardedButtonProps) {
  return <DialogButton {...action} draw={(close) => <ReasonDialog {...action} onClose={close} />} />
}

/**
 * A call that is made only once: after the first `start`, further ones do nothing unless the call has failed. This
 * takes effect at once, not with the next render, so that two quick clicks make one call.
 */
export function useSingleAction<Input>(act: (input: Input) => Promise<unknown>, onDone: () => void) {
  const isStarted = useRef(false)
  const acting = useMutation({
    mutationFn: act,
    onSuccess: onDone,
    onError: () => {
      isStarted.current = false
    },
  })
  const start = (input: Input): void => {
    if (isStarted.current) return
    isStarted.current = true
    acting.mutate(input)
  }
  return { start, isBusy: acting.isPending, error: acting.error }
}
