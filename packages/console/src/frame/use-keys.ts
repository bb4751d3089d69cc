import { useEffect, useRef } from 'react'

/** What a key does. The name is the `key` of its event, or two of them with a space in between. */
export type KeyTable = Readonly<Record<string, () => void>>

let isActive = true
let previous = ''

/** Whether keys without a modifier are active. */
export function areKeysActive(): boolean {
  return isActive
}

/** Switches the keys on or off. Screen readers and speech recognition may need the same keys. */
export function setKeysActive(active: boolean): void {
  isActive = active
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input:not([type=checkbox],[type=radio]), select, textarea')
}

function isForPage(event: KeyboardEvent): boolean {
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey
  return isActive && !hasModifier && !isTyping(event.target) && document.querySelector('dialog[open]') === null
}

function rememberKey(event: KeyboardEvent): void {
  previous = isForPage(event) ? event.key : ''
}

/** Call it once, before the page is shown: it remembers the first key of a pair. */
export function followKeys(): void {
  document.addEventListener('keyup', rememberKey)
}

/** Runs the action of a pressed key, unless the viewer types or a dialog is open. */
export function useKeys(table: KeyTable): void {
  const current = useRef(table)
  useEffect(() => {
    current.current = table
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const actions = new Map(Object.entries(current.current))
      const action = actions.get(`${previous} ${event.key}`) ?? actions.get(event.key)
      if (action === undefined || !isForPage(event)) return
      event.preventDefault()
      action()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}
