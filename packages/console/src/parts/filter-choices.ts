/** What a filter offers, and what it says. */
export interface FilterChoices {
  readonly label: string
  /** The text of the choice of any value. */
  readonly any: string
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly onChoose: (value: string | undefined) => void
}
