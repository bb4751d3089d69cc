// The providers for every part of the page that names them, and the filter by provider.

import { useQuery } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'
import type { Choice, FilterValue } from '../parts/choice.tsx'
import { texts } from '../texts/texts.ts'

const REFRESH_MS = 5_000

/** The providers with their URLs, deliveries and secrets, kept up to date for every component that shows them. */
export function useProviders() {
  return useQuery({
    queryKey: ['providers'],
    queryFn: () => operator.providers.list.query(),
    refetchInterval: REFRESH_MS,
  })
}

/** The filter for a provider: each that is configured, and the chosen one even if it is not. */
export function ProviderFilter({ as: Look, chosen, onChoose }: FilterValue & { readonly as: typeof Choice }) {
  const { data = [] } = useProviders()
  const names = new Set([...data.map(({ name }) => name), ...(chosen === undefined ? [] : [chosen])])
  return (
    <Look
      label={texts.events.provider}
      any={texts.events.anyProvider}
      chosen={chosen}
      options={[...names].toSorted().map((name) => [name, name])}
      onChoose={onChoose}
    />
  )
}
