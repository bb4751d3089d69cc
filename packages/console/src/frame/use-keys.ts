import { useEffect, useEffectEvent } from 'react'

/** What a key does. The name is the `key` of its event, or two of them with a space in between. */
export type KeyTable = Readonly<Record<string, () => void>>

/** Whether keys without a modifier are active. Screen readers and speech recognition may need the same keys. */
export const keys = { areActive: true }

let previous = ''

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input:not([type=checkbox],[type=radio]), select, textarea')
}

function isForPage(event: KeyboardEvent): boolean {
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey
  return keys.areActive && !hasModifier && !isTyping(event.target) && document.querySelector('dialog[open]') === null
}

/** Call it once, before the page is shown: it remembers the first key of a pair. */
export function followKeys(): void {
  document.addEventListener('keyup', (event) => {
    previous = isForPage(event) ? event.key : ''
  })
}

/** Runs the action of a pressed key, unless the viewer types or a dialog is open. */
export function useKeys(table: KeyTable): void {
  const press = useEffectEvent((event: KeyboardEvent): void => {
    const action = table[`${previous} ${event.key}`] ?? table[event.key]
    if (action === undefined || !isForPage(event)) return
    event.preventDefault()
    action()
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => press(event)
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}
