/** Bits below which a secret is called weak: 32 random digits, decimal ones too, are well above by this estimate. */
const WEAK_BITS = 32

/**
 * Whether a secret is so regular that it was hardly drawn at random: few different characters, a repeated pattern, a
 * sequence. An estimate from the text alone, so that some guessable texts pass.
 */
export function isWeakSecret(text: string): boolean {
  return surprising(shortestPeriod(text)).length * bitsPerCharacter(text) < WEAK_BITS
}

/** The part of a text that its repetition makes the whole of: `ab` of `ababab`. */
function shortestPeriod(text: string): string {
  return text.slice(0, `${text}${text}`.indexOf(text, 1))
}

/** Without the characters that follow from the one before: `b` and `c` of `abc`. */
function surprising(text: string): string {
  return text.replaceAll(/./gsu, (character, at: number) => {
    const step = (character.codePointAt(0) ?? 0) - (text.codePointAt(at - 1) ?? Number.NaN)
    return Math.abs(step) <= 1 ? '' : character
  })
}

/** Shannon's entropy of the characters of a text. */
function bitsPerCharacter(text: string): number {
  const counts = Object.values(Object.groupBy(text, (character) => character)).map((all) => all?.length ?? 0)
  return counts.reduce((sum, count) => sum - (count / text.length) * Math.log2(count / text.length), 0)
}
