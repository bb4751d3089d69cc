import { useState } from 'react'
import { openStore } from './open-store.ts'

/** The themes to choose from. `system` follows the settings of the viewer's system. */
export const THEMES = ['system', 'light', 'dark'] as const

/** One of the themes. */
export type Theme = (typeof THEMES)[number]

const KEY = 'oncehook-theme'

function readTheme(): Theme {
  const stored = openStore('localStorage')?.getItem(KEY)
  return THEMES.find((theme) => theme === stored) ?? 'system'
}

/** Shows the page in a theme; by default in the stored one. */
export function applyTheme(theme: Theme = readTheme()): void {
  document.documentElement.dataset.theme = theme
}

/** The theme, and a function that changes and stores it. It is all that the page stores in the browser for longer than a sign-in. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(readTheme)
  return [
    theme,
    (next) => {
      openStore('localStorage')?.setItem(KEY, next)
      applyTheme(next)
      setTheme(next)
    },
  ]
}
