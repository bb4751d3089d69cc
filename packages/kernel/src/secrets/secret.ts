import { inspect } from 'node:util'

const HIDDEN = '[secret]'

/** A value hidden from printing, serialising and inspecting. Only `reveal` returns it. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** Returns the value. Call it only where the value is used. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return HIDDEN
  }

  toJSON(): string {
    return HIDDEN
  }

  [inspect.custom](): string {
    return HIDDEN
  }
}

const SAMPLES = ['changeme', 'change-me', 'change_me', 'placeholder', 'your-secret', 'your_secret']

/** The problem with a text as a secret, or null. Never repeats the text. `minLength` is in characters. */
export function secretProblem(text: string, minLength: number): string | null {
  if (text.trim() === '') return 'is empty'
  if (text !== text.trim()) return 'has leading or trailing whitespace'
  const lower = text.toLowerCase()
  if (SAMPLES.some((sample) => lower.includes(sample)) || new Set(text).size === 1) return 'is a sample placeholder'
  if (text.length < minLength) return `is shorter than ${minLength} characters`
  return null
}

/** Minimum bits of a strong secret. 32 random digits, even decimal ones, are well above this estimate. */
const WEAK_BITS = 32

/**
 * Whether a secret is too regular to be random: few distinct characters, a repeated pattern or a sequence. Estimated
 * from the text alone, so some guessable texts pass.
 */
export function isWeakSecret(text: string): boolean {
  return surprising(shortestPeriod(text)).length * bitsPerCharacter(text) < WEAK_BITS
}

/** The part of a text that is repeated: `ab` in `ababab`. */
function shortestPeriod(text: string): string {
  return text.slice(0, `${text}${text}`.indexOf(text, 1))
}

/** Removes characters that follow the one before them in sequence: `b` and `c` in `abc`. */
function surprising(text: string): string {
  return text.replaceAll(/./gsu, (character, at: number) => {
    const step = (character.codePointAt(0) ?? 0) - (text.codePointAt(at - 1) ?? Number.NaN)
    return Math.abs(step) <= 1 ? '' : character
  })
}

/** Shannon entropy of the characters of a text. */
function bitsPerCharacter(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  return [...counts.values()].reduce((sum, count) => sum - (count / text.length) * Math.log2(count / text.length), 0)
}
