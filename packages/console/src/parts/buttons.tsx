// Buttons that cannot always be pressed. They keep the focus, so that keyboard users also find the reason.

import { type ReactNode, useId, useState } from 'react'
import { useMayDo } from '../api/session.ts'
import { useKeys } from '../frame/use-keys.ts'
import { texts } from '../texts/texts.ts'

export interface GuardedButtonProps {
  readonly text: string
  /** Why it cannot be pressed now. */
  readonly why?: string | null
  /** The role that it needs. */
  readonly needs?: 'operate' | 'orders'
  /** The key that presses it. */
  readonly letter?: string
  readonly isMain?: boolean
}

/** A button for a role, which says why it is disabled. */
export function GuardedButton(props: GuardedButtonProps & { readonly onClick: () => void }) {
  const { text, needs = 'operate', letter, isMain = false, onClick } = props
  const id = useId()
  const why = useMayDo(needs) ? (props.why ?? null) : texts.why(needs)
  useKeys(letter !== undefined && why === null ? { [letter]: onClick } : {})
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

/** A button that does nothing while it is busy. */
export function BusyButton(props: {
  readonly isBusy: boolean
  readonly onClick: () => void
  readonly children: ReactNode
}) {
  const { isBusy, onClick, children } = props
  return (
    <button type="button" className="button" aria-disabled={isBusy} onClick={isBusy ? undefined : onClick}>
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
      {name} {copied === text && <span role="status">✓ copied</span>}
    </button>
  )
}
