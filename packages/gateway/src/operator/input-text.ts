import { z } from 'zod'

/** Refuses control characters: what operators write ends up in the audit log, in records and on the screens of others. */
export const withoutControls = z.regex(/^\P{Cc}*$/u, { error: 'has a control character' })

export function inputText(most: number): z.ZodString {
  return z.string().min(1).max(most).check(withoutControls)
}

// Lines that break, text that is shown in another order, halves of characters, and tags.
const MISLEADING = /[\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u
const UNSEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu
const LEAST_SEEN = 3

/** Why an operator does something: 3 to 200 characters that readers of the audit log see as they are. */
export const reasonSchema = z
  .string()
  .trim()
  .min(LEAST_SEEN)
  .max(200)
  .check(withoutControls)
  .refine((reason) => !MISLEADING.test(reason), { error: 'has a character that can mislead' })
  .refine((reason) => reason.replace(UNSEEN, '').length >= LEAST_SEEN, { error: 'shows fewer than 3 characters' })
