import { ChipChoice } from '../parts/chip-choice.tsx'
import { texts } from '../texts/texts.ts'
import { useProviders } from './use-providers.ts'

/** The filter for a provider: each that is configured, and the chosen one even if it is not. */
export function ProviderFilter(props: {
  readonly chosen: string | undefined
  readonly onChoose: (provider: string | undefined) => void
}) {
  const { chosen, onChoose } = props
  const { data = [] } = useProviders()
  const names = new Set([...data.map(({ name }) => name), ...(chosen === undefined ? [] : [chosen])])
  return (
    <ChipChoice
      label={texts.events.provider}
      any={texts.events.anyProvider}
      chosen={chosen}
      options={[...names].toSorted().map((name) => [name, name])}
      onChoose={onChoose}
    />
  )
}
