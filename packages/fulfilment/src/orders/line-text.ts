// Control characters (C0, DEL, C1), and the separators of lines and paragraphs.
const LINE_TEXT = /[\p{Cc}\p{Zl}\p{Zp}]+/gu

/** Whether a text has characters that begin a line, or control what shows it. */
export function hasLineText(text: string): boolean {
  return text.search(LINE_TEXT) !== -1
}

/** The text on one line, a space in place of such characters. */
export function toOneLine(text: string): string {
  return text.replaceAll(LINE_TEXT, ' ')
}
