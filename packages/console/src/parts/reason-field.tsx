import { useId } from 'react'
import { texts } from '../texts.ts'

/** The field for the reason of an action. Its name in the form is `reason`. */
export function ReasonField() {
  const id = useId()
  return (
    <p className="my-3">
      <label htmlFor={id} className="block font-semibold">
        {texts.action.reason}
      </label>
      <input
        id={id}
        name="reason"
        required
        minLength={3}
        maxLength={200}
        autoComplete="off"
        className="input w-full"
        aria-describedby={`${id}-hint`}
      />
      <span id={`${id}-hint`} className="text-quiet">
        {texts.action.reasonHint}
      </span>
    </p>
  )
}

/** The reason that was typed into a form. */
export function reasonOf(form: HTMLFormElement): string {
  return String(new FormData(form).get('reason') ?? '')
}
