/**
 * Whether a body begins with a digit after a text that ends in one, such as a timestamp. The signed text could then be split
 * in two ways, one with a longer timestamp and a shorter body.
 */
export function couldContinueTime(before: string, rawBody: Uint8Array): boolean {
  return isDigit(before.charCodeAt(before.length - 1)) && isDigit(rawBody[0])
}

function isDigit(code = 0): boolean {
  return code >= 0x30 && code <= 0x39
}
