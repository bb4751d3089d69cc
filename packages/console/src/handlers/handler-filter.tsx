import { ChipChoice } from '../parts/chip-choice.tsx'
import { texts } from '../texts/texts.ts'
import { useHandlers } from './use-handlers.ts'

/** The filter for a handler: each that is listed, and the chosen one even if it is not. Nothing without handlers. */
export function HandlerFilter(props: {
  readonly chosen: string | undefined
  readonly onChoose: (handler: string | undefined) => void
}) {
  const { chosen, onChoose } = props
  const { data = [] } = useHandlers()
  const names = new Set([...data.map(({ name }) => name), ...(chosen === undefined ? [] : [chosen])])
  if (names.size === 0) return null
  return (
    <ChipChoice
      label={texts.handlers.handler}
      any={texts.handlers.any}
      chosen={chosen}
      options={[...names].map((name) => [name, name])}
      onChoose={onChoose}
    />
  )
}
