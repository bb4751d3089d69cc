import { type ReactNode, useEffect, useId, useRef } from 'react'

/** A dialog of the browser: the focus stays inside, Escape closes it, and the focus then returns to where it came from. */
export function Modal(props: { readonly title: string; readonly onClose: () => void; readonly children: ReactNode }) {
  const { title, onClose, children } = props
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    ref.current?.showModal()
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
      <h2 id={id} className="mb-3 text-lg font-semibold">
        {title}
      </h2>
      {children}
    </dialog>
  )
}
