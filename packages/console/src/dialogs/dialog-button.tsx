import { type ReactNode, useState } from 'react'
import { GuardedButton, type GuardedButtonProps } from '../parts/buttons.tsx'

interface DialogButtonProps extends GuardedButtonProps {
  readonly draw: (close: () => void) => ReactNode
}

/** The button of a dialog, which is about what the page showed at the click, also if that has changed since. */
export function DialogButton({ draw, ...button }: DialogButtonProps) {
  const [dialog, setDialog] = useState<ReactNode>(null)
  return (
    <>
      <GuardedButton {...button} onClick={() => setDialog(draw(() => setDialog(null)))} />
      {dialog}
    </>
  )
}
