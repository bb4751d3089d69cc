// The providers for every part of the page that names them, and the filter by provider.

import { type Answers, operator } from '../api/operator-client.ts'
import { useLive } from '../api/use-answer.ts'
import type { Choice, FilterValue } from '../parts/choice.tsx'

export type Provider = Answers['providers']['list'][number]

export const useProviders = () => useLive(['providers'], () => operator.providers.list.query())

export function ProviderFilter({ as: Look, ...filter }: FilterValue & { readonly as: typeof Choice }) {
  const { data = [] } = useProviders()
  const options = data.map(({ name }) => [name, name] as const)
  return <Look label="Provider" any="All providers" options={options} {...filter} />
}
