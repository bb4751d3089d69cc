import { useInfiniteQuery } from '@tanstack/react-query'

/** The input for a page: its size, and where it starts unless it is the first. */
interface PageRequest {
  readonly limit: number
  readonly after?: string
}

/** A list: its key in the cache, and the call that reads one of its pages. */
interface Pages<Page> {
  readonly key: readonly unknown[]
  readonly read: (page: PageRequest) => Promise<Page>
  /** Milliseconds after which the list is read again. Without it, only on request. */
  readonly refreshMs?: number
}

const PAGE = 100

/** A list of the operator API, page by page. */
export function usePages<Page extends { readonly next: string | null }>({ key, read, refreshMs }: Pages<Page>) {
  return useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => read({ limit: PAGE, ...(pageParam === '' ? {} : { after: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    refetchInterval: refreshMs ?? false,
  })
}
