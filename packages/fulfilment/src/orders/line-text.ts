// Control characters (C0, DEL, C1), and line and paragraph separators.
const LINE_TEXT = /[\p{Cc}\p{Zl}\p{Zp}]+/gu

/** Whether a text contains line breaks or control characters. */
export function hasLineText(text: string): boolean {
  return text.search(LINE_TEXT) !== -1
}

/** Converts a text to one line by replacing such characters with spaces. */
export function toOneLine(text: string): string {
  return text.replaceAll(LINE_TEXT, ' ')
}
