import { useSearch } from '@tanstack/react-router'
import { type EventSearch, readEventSearch } from './event-search.ts'

/** The filters of the address. The router also keeps what is unknown or not valid there; it is left out here. */
export function useEventSearch(): EventSearch {
  return useSearch({ from: '/events', structuralSharing: true, select: (search) => readEventSearch({ ...search }) })
}
