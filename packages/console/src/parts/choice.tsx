// Filters with one of several values: as a select field, or as buttons.

import { useId } from 'react'

export interface FilterValue {
  readonly chosen: string | undefined
  readonly onChoose: (value: string | undefined) => void
}

interface FilterChoices extends FilterValue {
  readonly label: string
  readonly any: string
  readonly options: readonly (readonly [value: string, text: string])[]
}

/** A select field whose value becomes a filter. */
export function Choice(props: FilterChoices) {
  const id = useId()
  return (
    <p className="flex flex-col">
      <label htmlFor={id} className="sr-only">
        {props.label}
      </label>
      <select
        id={id}
        className="input max-w-56"
        value={props.chosen ?? ''}
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

/** A filter with a button for each value, for any value, and for the chosen one even if it is not among the values. */
export function ChipChoice(props: FilterChoices) {
  const { label, any, chosen, onChoose } = props
  const isKnown = chosen === undefined || props.options.some(([value]) => value === chosen)
  const options = isKnown ? props.options : [...props.options, [chosen, chosen] as const]
  return (
    <fieldset className="-m-1 flex max-h-25 min-w-0 flex-wrap overflow-y-auto p-1">
      <legend className="sr-only">{label}</legend>
      {[[undefined, any] as const, ...options].map(([value, text]) => (
        <button
          key={value ?? ''}
          type="button"
          className="chip text-left break-all"
          aria-current={value === chosen ? 'true' : undefined}
          onClick={() => onChoose(value)}
        >
          {text}
        </button>
      ))}
    </fieldset>
  )
}
