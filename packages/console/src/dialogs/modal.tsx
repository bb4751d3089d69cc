// The frame of every dialog, and what dialogs have in common inside it.

import { type ReactNode, useEffect, useId, useRef } from 'react'
import { texts } from '../texts/texts.ts'

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

/** The last row of a dialog without a form: the button that closes it. */
export function CloseRow({ onClose }: { readonly onClose: () => void }) {
  return (
    <p className="mt-4 text-right">
      <button type="button" className="button" onClick={onClose}>
        {texts.frame.close}
      </button>
    </p>
  )
}

/** Names with their values, one below the other, as a dialog has room for them. */
export function DialogFacts({ items }: { readonly items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid gap-x-3 gap-y-1 sm:grid-cols-[9rem_1fr]">
      {items.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-quiet">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
