export interface FilterValue {
  readonly chosen: string | undefined
  readonly onChoose: (value: string | undefined) => void
}

interface FilterChoices extends FilterValue {
  readonly label: string
  readonly any: string
  readonly options: readonly (readonly [value: string, text: string])[]
}

/** The values, and the chosen one even if it is not among them. */
function optionsOf({ options, chosen }: FilterChoices): FilterChoices['options'] {
  const isKnown = chosen === undefined || options.some(([value]) => value === chosen)
  return isKnown ? options : [...options, [chosen, chosen]]
}

/** A select field whose value becomes a filter. */
export function Choice(props: FilterChoices) {
  const { label, any, chosen = '', onChoose } = props
  return (
    <select
      aria-label={label}
      className="input max-w-56"
      value={chosen}
      onChange={({ target }) => onChoose(target.value || undefined)}
    >
      {[['', any] as const, ...optionsOf(props)].map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  )
}

/** A filter with a button for each value, and for any value. */
export function ChipChoice(props: FilterChoices) {
  const { label, any, chosen, onChoose } = props
  return (
    <fieldset className="-m-1 flex max-h-25 min-w-0 flex-wrap overflow-y-auto p-1">
      <legend className="sr-only">{label}</legend>
      {[[undefined, any] as const, ...optionsOf(props)].map(([value, text]) => (
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
