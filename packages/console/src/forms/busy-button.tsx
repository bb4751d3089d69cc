import type { ReactNode } from 'react'

/** A button that does nothing while it is busy, and keeps the focus meanwhile. */
export function BusyButton(props: {
  readonly isBusy: boolean
  readonly onClick: () => void
  readonly children: ReactNode
}) {
  const { isBusy, onClick, children } = props
  const press = (): void => {
    if (!isBusy) onClick()
  }
  return (
    <button type="button" className="button" aria-disabled={isBusy} onClick={press}>
      {children}
    </button>
  )
}
