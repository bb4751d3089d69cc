import { useId } from 'react'

/** A button that says why it cannot be used now. `why` null means that it can. */
export function GuardedButton(props: {
  readonly text: string
  readonly why: string | null
  readonly onClick: () => void
  readonly isMain?: boolean
}) {
  const id = useId()
  const look = props.isMain === true ? 'button button-main' : 'button'
  if (props.why === null) {
    return (
      <button type="button" className={look} onClick={props.onClick}>
        {props.text}
      </button>
    )
  }
  return (
    <span>
      <button type="button" className={look} disabled aria-describedby={id} title={props.why}>
        {props.text}
      </button>
      <span id={id} className="sr-only">
        {props.why}
      </span>
    </span>
  )
}
