// Buttons that cannot always be pressed. They keep the focus, and say why.

import { type ReactNode, useId, useState } from 'react'
import { texts } from '../texts/texts.ts'

/**
 * A button that says why it is disabled. If `why` is null, it is enabled. It keeps the focus when that changes, so that
 * keyboard users also find the reason.
 */
export function GuardedButton(props: {
  readonly text: string
  readonly why: string | null
  readonly onClick: () => void
  readonly isMain?: boolean
}) {
  const { text, why, onClick, isMain = false } = props
  const id = useId()
  const guard = why === null ? { onClick } : { 'aria-disabled': true, 'aria-describedby': id, title: why }
  return (
    <span>
      <button type="button" className={isMain ? 'button button-main' : 'button'} {...guard}>
        {text}
      </button>
      {why !== null && (
        <span id={id} className="sr-only">
          {why}
        </span>
      )}
    </span>
  )
}

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

/** A button that copies a text, and says so. Nothing where the browser allows it to nobody, as without https on another machine. */
export function CopyButton({ text, name }: { readonly text: string; readonly name: string }) {
  const [copied, setCopied] = useState('')
  if (globalThis.navigator?.clipboard === undefined) return null
  const copy = (): void => void navigator.clipboard.writeText(text).then(() => setCopied(text))
  return (
    <button type="button" className="button" onClick={copy}>
      {name} {copied === text && <span role="status">{texts.frame.copied}</span>}
    </button>
  )
}
