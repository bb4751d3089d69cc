import { type ReactNode, type SyntheticEvent, useEffect, useId, useRef } from 'react'

interface ModalProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  /** What is sent, if it is not only to be read. While it is busy, it must not be sent. */
  readonly form?: {
    readonly submit: string
    readonly isBusy: boolean
    readonly send: (form: FormData) => void
  }
}

/**
 * A dialog of the browser. It opens at its beginning, with the focus at the first field of its form, or at its title if it
 * has none. The focus stays inside, Escape closes it, and the focus then returns to where it came from.
 */
export function Modal({ title, onClose, children, form }: ModalProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    if (ref.current !== null) showFromStart(ref.current)
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  const Content = form === undefined ? 'div' : 'form'
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault()
    if (form?.isBusy === false && event.target instanceof HTMLFormElement) form.send(new FormData(event.target))
  }
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
      <Content onSubmit={submit}>
        {children}
        <p className="mt-4 flex flex-wrap justify-end gap-2">
          <button type="button" className="button" onClick={onClose}>
            {form === undefined ? 'Close' : 'Cancel'}
          </button>
          {form !== undefined && (
            <button type="submit" className="button button-main" aria-disabled={form.isBusy}>
              {form.submit}
            </button>
          )}
        </p>
      </Content>
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
