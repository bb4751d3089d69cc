/** The filters of the list of refused deliveries, as the address bar has them. */
export interface RefusedSearch {
  readonly provider?: string
  readonly reason?: string
}

/** Reads the filters of an address. */
export function readRefusedSearch(search: Readonly<Record<string, unknown>>): RefusedSearch {
  const names = ['provider', 'reason'] as const
  const found = names.map((name) => [name, search[name]] as const)
  return Object.fromEntries(found.filter(([, value]) => typeof value === 'string' && value !== ''))
}
