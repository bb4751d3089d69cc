// The dialog for an action that the audit log records with a reason. Its call is made once, however fast somebody clicks.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useRef } from 'react'
import { HintedField } from '../parts/hinted-field.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'
import { Modal } from './modal.tsx'

export interface ReasonedAction {
  readonly title: string
  readonly hint: string
  readonly submit: string
  /** Further fields of the form, after the reason. */
  readonly fields?: ReactNode
  readonly act: (reason: string, form: FormData) => Promise<unknown>
}

/** Asks for a reason and makes the call once. When it has succeeded, closes and reads again what has changed. */
export function ReasonDialog(props: {
  readonly action: ReasonedAction
  /** The first names of the queries that show what the action changes. */
  readonly changes: readonly string[]
  readonly onClose: () => void
}) {
  const { action, changes, onClose } = props
  const client = useQueryClient()
  const acting = useSingleAction({
    act: (form: HTMLFormElement) => action.act(reasonOf(form), new FormData(form)),
    onDone() {
      onClose()
      for (const name of changes) void client.invalidateQueries({ queryKey: [name] })
    },
  })
  return (
    <Modal title={action.title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          acting.start(event.currentTarget)
        }}
      >
        <p>{action.hint}</p>
        <ReasonField />
        {action.fields}
        {acting.error !== null && <ProblemNotice error={acting.error} />}
        <DialogButtons submit={action.submit} isBusy={acting.isBusy} onClose={onClose} />
      </form>
    </Modal>
  )
}

/** The two buttons of a dialog with a form. The form must not be sent while it is busy. */
export function DialogButtons(props: {
  readonly submit: string
  readonly isBusy: boolean
  readonly onClose: () => void
}) {
  return (
    <p className="mt-4 flex flex-wrap justify-end gap-2">
      <button type="button" className="button" onClick={props.onClose}>
        {texts.frame.cancel}
      </button>
      <button type="submit" className="button button-main" aria-disabled={props.isBusy}>
        {props.submit}
      </button>
    </p>
  )
}

/** The field for the reason of an action. Its name in the form is `reason`. */
export function ReasonField() {
  return (
    <HintedField
      label={texts.action.reason}
      hint={texts.action.reasonHint}
      name="reason"
      required
      minLength={3}
      maxLength={200}
      autoComplete="off"
      className="input w-full"
    />
  )
}

export function reasonOf(form: HTMLFormElement): string {
  return String(new FormData(form).get('reason') ?? '')
}

/** A call that changes something, and what to do after it. */
interface SingleAction<Input, Answer> {
  readonly act: (input: Input) => Promise<Answer>
  readonly onDone: (answer: Answer) => void
}

/**
 * A call that is made only once: after the first `start`, further ones do nothing unless the call has failed. This
 * takes effect at once, not with the next render, so that two quick clicks make one call.
 */
export function useSingleAction<Input, Answer>({ act, onDone }: SingleAction<Input, Answer>) {
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
