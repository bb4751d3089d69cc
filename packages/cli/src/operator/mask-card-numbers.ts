// The first digits exclude times in milliseconds.
const CANDIDATE = /(?<![\d.])(?:[3-6]\d|2[2-7])(?:[ -]?\d){11,17}(?!\d)/g

/** Masks card numbers except their last four digits: 13 to 19 digits, with spaces or hyphens, that pass the Luhn check. */
export function maskCardNumbers(text: string): string {
  return text.replace(CANDIDATE, (found) => (passesLuhn(found.replace(/\D/g, '')) ? mask(found) : found))
}

function passesLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, place) => {
    const value = Number(digit) * (place % 2 === 0 ? 1 : 2)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

const SHOWN_DIGITS = 4

function mask(found: string): string {
  const hidden = found.replace(/\D/g, '').length - SHOWN_DIGITS
  let seen = 0
  return found.replace(/\d/g, (digit) => {
    seen += 1
    return seen <= hidden ? '*' : digit
  })
}
