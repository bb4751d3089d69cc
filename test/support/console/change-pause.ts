import type { Locator } from 'playwright-core'
import { giveReason } from './give-reason.ts'
import type { Visit } from './open-console.ts'

/** What is paused or resumed, and why. */
interface PauseChange {
  readonly does: 'Pause' | 'Resume'
  readonly name: string
  readonly reason: string
}

/** Pauses or resumes a provider or handler in its part of a page, and waits until the page offers the opposite. */
export async function changePause(visit: Visit, part: Locator, { does, name, reason }: PauseChange): Promise<void> {
  await part.getByRole('button', { name: `${does}…` }).click()
  await giveReason(visit, reason)
  await visit.page.getByRole('button', { name: `${does} ${name}`, exact: true }).click()
  await visit.page.getByRole('dialog').waitFor({ state: 'detached' })
  await part.getByRole('button', { name: does === 'Pause' ? 'Resume…' : 'Pause…' }).waitFor()
}
