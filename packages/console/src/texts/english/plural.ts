import { number } from './formats.ts'

/** A number with its noun: `1 event`, `2,000 events`. */
export const plural = (count: number, one: string, many: string): string =>
  `${number(count)} ${count === 1 ? one : many}`
