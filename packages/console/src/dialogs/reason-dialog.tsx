import type { ReactNode } from 'react'
import { useSingleAction } from '../api/use-single-action.ts'
import { ReasonField, reasonOf } from '../forms/reason-field.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'
import { Modal } from './modal.tsx'

/** An action that needs a reason: what it does, and the call. */
export interface ReasonedAction {
  readonly title: string
  readonly hint: string
  readonly submit: string
  /** Further fields of the form, after the reason. */
  readonly fields?: ReactNode
  readonly act: (reason: string, form: FormData) => Promise<unknown>
}

/** Asks for a reason, makes the call once, and closes when it has succeeded. */
export function ReasonDialog(props: {
  readonly action: ReasonedAction
  readonly onDone: () => void
  readonly onClose: () => void
}) {
  const { action, onDone, onClose } = props
  const acting = useSingleAction({
    act: (form: HTMLFormElement) => action.act(reasonOf(form), new FormData(form)),
    onDone,
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
