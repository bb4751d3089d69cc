import { useId } from 'react'
import type { FilterChoices } from './filter-choices.ts'

/** A select field whose value becomes a filter. */
export function Choice(props: FilterChoices & { readonly value: string | undefined }) {
  const id = useId()
  return (
    <p className="flex flex-col">
      <label htmlFor={id} className="sr-only">
        {props.label}
      </label>
      <select
        id={id}
        className="input max-w-56"
        value={props.value ?? ''}
        onChange={({ target }) => props.onChoose(target.value === '' ? undefined : target.value)}
      >
        <option value="">{props.any}</option>
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </p>
  )
}
