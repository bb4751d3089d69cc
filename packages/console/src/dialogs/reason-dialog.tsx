// The dialog for an action that the audit log records with a reason. Its call is made once, however fast somebody clicks.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef, useState } from 'react'
import { GuardedButton, type GuardedButtonProps } from '../parts/buttons.tsx'
import { HintedField } from '../parts/hinted-field.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
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
}

interface Changing {
  readonly action: ReasonedAction
  /** The first names of the queries that show what the action changes. */
  readonly changes: readonly string[]
}

/** Asks for a reason and makes the call once. When it has succeeded, closes and reads again what has changed. */
export function ReasonDialog({ action, changes, onClose }: Changing & { readonly onClose: () => void }) {
  const { title, hint, submit, isBusy = false, fields, act } = action
  const client = useQueryClient()
  const acting = useSingleAction(
    (form: FormData) => act(String(form.get('reason') ?? ''), form),
    () => {
      onClose()
      for (const name of changes) void client.invalidateQueries({ queryKey: [name] })
    },
  )
  const send = (form: HTMLFormElement): void => acting.start(new FormData(form))
  return (
    <Modal title={title} onClose={onClose} form={{ submit, isBusy: isBusy || acting.isBusy, send }}>
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

/** The button of an action. Its dialog asks what the button said at the click, also if that has changed since. */
export function ActionButton({ action, changes, ...button }: Changing & GuardedButtonProps) {
  const [asked, setAsked] = useState<ReasonedAction | null>(null)
  return (
    <>
      <GuardedButton {...button} onClick={() => setAsked(action)} />
      {asked !== null && <ReasonDialog action={asked} changes={changes} onClose={() => setAsked(null)} />}
    </>
  )
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
