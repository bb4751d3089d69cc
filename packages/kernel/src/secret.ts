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
