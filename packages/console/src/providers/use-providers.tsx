// The providers for every part of the page that names them, and the filter by provider.

import { useQuery } from '@tanstack/react-query'
import { type Answers, operator } from '../api/operator-client.ts'
import type { Choice, FilterValue } from '../parts/choice.tsx'

export type Provider = Answers['providers']['list'][number]

const REFRESH_MS = 5_000

export function useProviders() {
  return useQuery({
    queryKey: ['providers'],
    queryFn: () => operator.providers.list.query(),
    refetchInterval: REFRESH_MS,
  })
}

export function ProviderFilter({ as: Look, ...filter }: FilterValue & { readonly as: typeof Choice }) {
  const { data = [] } = useProviders()
  const options = data.map(({ name }) => [name, name] as const)
  return <Look label="Provider" any="All providers" options={options} {...filter} />
}
