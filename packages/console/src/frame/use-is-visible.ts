import { useSyncExternalStore } from 'react'

function listen(tell: () => void): () => void {
  document.addEventListener('visibilitychange', tell)
  return () => document.removeEventListener('visibilitychange', tell)
}

/** Whether the window shows this page, and not another tab. */
export function useIsVisible(): boolean {
  return useSyncExternalStore(listen, () => document.visibilityState === 'visible')
}
