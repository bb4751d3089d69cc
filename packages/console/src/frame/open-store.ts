/** What the browser keeps for the page: permanently, or for this window. Null if its user has blocked the data of the site. */
export function openStore(name: 'localStorage' | 'sessionStorage'): Storage | null {
  try {
    return window[name]
  } catch {
    // Then even reading the property throws (HTML Standard, section 12.2.1).
    return null
  }
}
