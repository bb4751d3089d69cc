import { type ReactNode, useEffect, useId, useRef } from 'react'

/**
 * A dialog of the browser. It opens at its beginning, with the focus at the first field of its form, or at its title if it
 * has none. The focus stays inside, Escape closes it, and the focus then returns to where it came from.
 */
export function Modal(props: { readonly title: string; readonly onClose: () => void; readonly children: ReactNode }) {
  const { title, onClose, children } = props
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    if (ref.current !== null) showFromStart(ref.current)
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onClose={onClose}
      // The browser reports a close only after the focus is back. By then, Enter may have opened the next dialog.
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      className="m-auto max-h-[90dvh] w-[min(44rem,94vw)] overflow-auto rounded border border-edge bg-ground p-4 text-ink"
    >
      <h2 id={id} tabIndex={-1} className="mb-3 text-lg wrap-anywhere font-semibold outline-none">
        {title}
      </h2>
      {children}
    </dialog>
  )
}

/** The browser itself would focus the first button, even at the end of a long text, and scroll to it. */
function showFromStart(dialog: HTMLDialogElement): void {
  dialog.showModal()
  const first = dialog.querySelector<HTMLElement>('form input') ?? dialog.querySelector('h2')
  first?.focus({ preventScroll: true })
  dialog.scrollTop = 0
}
