import { expect, it } from 'vitest'
import { Refusal } from './refusal.ts'

it('a refusal with a misspelt advice or no whole number of seconds cannot be made', () => {
  expect(() => new Refusal('Never' as 'never', 'x')).toThrow("retry must be 'now', 'later' or 'never'")
  expect(() => new Refusal('later', 'x', { afterSeconds: 0.5 })).toThrow('afterSeconds must be a whole number')
  expect(new Refusal('later', 'x')).toMatchObject({ retry: 'later', afterSeconds: 60, message: 'x' })
})
