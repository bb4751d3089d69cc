import { texts } from '../texts/texts.ts'
import { HintedField } from './hinted-field.tsx'

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

/** The reason from a form. */
export function reasonOf(form: HTMLFormElement): string {
  return String(new FormData(form).get('reason') ?? '')
}
