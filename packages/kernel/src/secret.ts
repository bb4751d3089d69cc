import { inspect } from 'node:util'

const HIDDEN = '[secret]'

/** A value that no printing, serialising or inspecting shows; only `reveal` does. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value itself: for the one place that uses it. */
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

/** Why a text cannot be a secret, or null when it can. Never repeats the text. `minLength` is in characters. */
export function secretProblem(text: string, minLength: number): string | null {
  if (text.trim() === '') return 'is empty'
  if (text !== text.trim()) return 'has blanks around it'
  const lower = text.toLowerCase()
  if (SAMPLES.some((sample) => lower.includes(sample)) || new Set(text).size === 1) return 'is a sample placeholder'
  if (text.length < minLength) return `is shorter than ${minLength} characters`
  return null
}
