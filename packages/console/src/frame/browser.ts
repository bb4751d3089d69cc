// What the page leaves in the browser: its storage and its theme.

/** What the browser keeps for the page: permanently, or for this window. Null if its user has blocked the data of the site. */
export function openStore(name: 'localStorage' | 'sessionStorage'): Storage | null {
  try {
    return window[name]
  } catch {
    // Then even reading the property throws (HTML Standard, section 12.2.1).
    return null
  }
}

/** The themes to choose from. `system` follows the settings of the viewer's system. */
export const THEMES = ['system', 'light', 'dark'] as const

const KEY = 'oncehook-theme'

export function readTheme(): string {
  return openStore('localStorage')?.getItem(KEY) ?? 'system'
}

/** Shows the page in a theme; by default in the stored one. */
export function applyTheme(theme = readTheme()): void {
  document.documentElement.dataset.theme = theme
}

/** Changes the theme, stores and returns it. It is all that the page stores in the browser for longer than a sign-in. */
export function chooseTheme(theme: string): string {
  openStore('localStorage')?.setItem(KEY, theme)
  applyTheme(theme)
  return theme
}
