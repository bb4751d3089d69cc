import { useId } from 'react'

/** A select field whose value becomes a filter. */
export function Choice(props: {
  readonly label: string
  readonly any: string
  readonly value: string | undefined
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly onChoose: (value: string | undefined) => void
}) {
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
