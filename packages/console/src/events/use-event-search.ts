import { useNavigate, useSearch } from '@tanstack/react-router'
import { type EventSearch, type FilterChange, readEventSearch, withFilter } from './event-search.ts'

/** The filters of the address. The router also keeps what is unknown or not valid there; it is left out here. */
export function useEventSearch(): EventSearch {
  return useSearch({ from: '/events', structuralSharing: true, select: (search) => readEventSearch({ ...search }) })
}

/** Changes filters of the address. A change that the page does not show yet is kept. */
export function useFilterChange(): (change: FilterChange) => void {
  const navigate = useNavigate()
  return (change) => void navigate({ to: '/events', search: changeFilters(change) })
}

/** For links: the filters of the address at the time of the click, changed. */
export function changeFilters(change: FilterChange) {
  return (search: Readonly<Record<string, unknown>>) => withFilter(readEventSearch(search), change)
}
