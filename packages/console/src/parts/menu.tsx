import { type ReactNode, type ToggleEvent, useId, useRef } from 'react'

const GAP_PX = 4
const EDGE_PX = 8

/** A button that opens a panel of the browser below itself. Escape and a click elsewhere close it. */
export function Menu({ text, children }: { readonly text: string; readonly children: ReactNode }) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const place = ({ currentTarget: panel }: ToggleEvent<HTMLElement>): void => {
    if (button.current === null) return
    const { bottom, left } = button.current.getBoundingClientRect()
    panel.style.top = `${bottom + GAP_PX}px`
    panel.style.left = `${Math.max(EDGE_PX, Math.min(left, window.innerWidth - panel.offsetWidth - EDGE_PX))}px`
  }
  return (
    <>
      <button ref={button} type="button" popoverTarget={id} className="button">
        {text} <span aria-hidden="true">▾</span>
      </button>
      <section
        id={id}
        popover="auto"
        aria-label={text}
        onToggle={place}
        className="fixed inset-auto m-0 max-h-[80dvh] w-[min(30rem,94vw)] overflow-auto rounded-lg border border-edge bg-ground p-4 text-ink shadow-xl"
      >
        {children}
      </section>
    </>
  )
}
