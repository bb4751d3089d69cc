import { type ComponentProps, useId } from 'react'

interface HintedFieldProps extends ComponentProps<'input'> {
  readonly label: string
  /** Shown below the field, and read out with it. */
  readonly hint: string
}

/** An input of a form with its label and a hint. Its value is in the form under its `name`. */
export function HintedField({ label, hint, ...input }: HintedFieldProps) {
  const id = useId()
  return (
    <div className="my-3">
      <label htmlFor={id} className="block font-semibold">
        {label}
      </label>
      <input id={id} aria-describedby={`${id}-hint`} autoComplete="off" className="input w-full" {...input} />{' '}
      <span id={`${id}-hint`} className="text-quiet">
        {hint}
      </span>
    </div>
  )
}
