import { useSearch } from '@tanstack/react-router'
import { type RefusedSearch, readRefusedSearch } from './refused-search.ts'

/** The filters of the address. The router also keeps what is unknown there; it is left out here. */
export function useRefusedSearch(): RefusedSearch {
  return useSearch({ from: '/refused', structuralSharing: true, select: (search) => readRefusedSearch({ ...search }) })
}
