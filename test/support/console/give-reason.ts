import { expect } from 'vitest'
import type { Visit } from './open-console.ts'

/** Types a reason into the dialog. The field has the focus already. */
export async function giveReason({ page }: Visit, reason: string): Promise<void> {
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type(reason)
  expect(await page.getByRole('textbox', { name: 'Reason' }).inputValue()).toBe(reason)
}
