import { BusyButton } from '../forms/busy-button.tsx'
import { texts } from '../texts/texts.ts'

/** A query whose pages are read one after the other. */
interface Paged {
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => Promise<unknown>
}

/** The button for the next page of a list, if there is one. */
export function MoreButton({ query }: { readonly query: Paged }) {
  if (!query.hasNextPage) return null
  return (
    <p className="py-3 text-center">
      <BusyButton isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {texts.frame.more}
      </BusyButton>
    </p>
  )
}
