export interface FilterValue {
  readonly chosen: string | undefined
  readonly onChoose: (value: string | undefined) => void
}

interface FilterChoices extends FilterValue {
  readonly label: string
  /** What the choice of no value is called. Without it, a value is always chosen. */
  readonly any?: string
  readonly options: readonly (readonly [value: string, text: string])[]
}

/** No value as an empty one, the values, and the chosen one even if it is not among them. */
function choicesOf({ options, chosen = '', any }: FilterChoices): FilterChoices['options'] {
  const choices = any === undefined ? options : [['', any] as const, ...options]
  return choices.some(([value]) => value === chosen) ? choices : [...choices, [chosen, chosen]]
}

/** A select field. */
export function Choice(props: FilterChoices) {
  const { label, chosen = '', onChoose } = props
  return (
    <select
      aria-label={label}
      title={label}
      className="input max-w-56"
      value={chosen}
      onChange={({ target }) => onChoose(target.value || undefined)}
    >
      {choicesOf(props).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  )
}

/** A button for each value, and for no value. */
export function ChipChoice(props: FilterChoices) {
  const { label, chosen = '', onChoose } = props
  return (
    <fieldset className="-m-1 flex max-h-25 min-w-0 flex-wrap overflow-y-auto p-1">
      <legend className="sr-only">{label}</legend>
      {choicesOf(props).map(([value, text]) => (
        <button
          key={value}
          type="button"
          className="chip text-left break-all"
          aria-current={value === chosen ? 'true' : undefined}
          onClick={() => onChoose(value || undefined)}
        >
          {text}
        </button>
      ))}
    </fieldset>
  )
}
