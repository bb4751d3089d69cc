import { useEffect, useState } from 'react'
import type { ListedEvent } from '../api/operator-client.ts'

const FAR_FROM_TOP_PX = 200

/** Whether the viewer has scrolled down, so that rows must stay in their place. */
export function isFarFromTop(): boolean {
  return window.scrollY > FAR_FROM_TOP_PX
}

/**
 * Keeps rows in their place while the viewer has scrolled down: newer events are only counted until they are requested
 * or the top is visible again.
 */
export function usePinned(items: readonly ListedEvent[]) {
  const [pinned, setPinned] = useState<string | null>(null)
  const newest = items[0]?.id ?? null
  useEffect(() => {
    const onScroll = (): void => {
      const isFar = isFarFromTop()
      setPinned((current) => (isFar ? (current ?? newest) : null))
    }
    document.addEventListener('scroll', onScroll, { passive: true })
    return () => document.removeEventListener('scroll', onScroll)
  }, [newest])
  const newer =
    pinned === null
      ? 0
      : Math.max(
          0,
          items.findIndex(({ id }) => id <= pinned),
        )
  return {
    shown: newer === 0 ? items : items.slice(newer),
    newer,
    showNewest: () => {
      setPinned(null)
      window.scrollTo({ top: 0 })
    },
  }
}
