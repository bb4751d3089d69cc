import { useInfiniteQuery } from '@tanstack/react-query'
import { operator } from '../api/operator-client.ts'

const PAGE = 100

/** The entries of the audit log, newest first, page by page. */
export function useAudit() {
  return useInfiniteQuery({
    queryKey: ['audit', 'list'],
    queryFn: ({ pageParam }) =>
      operator.audit.list.query({ limit: PAGE, ...(pageParam === '' ? {} : { after: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  })
}
