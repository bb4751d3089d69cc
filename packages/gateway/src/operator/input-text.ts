import { z } from 'zod'

/** Refuses control characters: what operators write ends up in the audit log, in records and on the screens of others. */
export const withoutControls = z.regex(/^\P{Cc}*$/u, { error: 'has a control character' })

/** A text in the input of an operator's call. */
export function inputText(most: number): z.ZodString {
  return z.string().min(1).max(most).check(withoutControls)
}
