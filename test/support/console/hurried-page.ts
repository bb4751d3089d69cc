import type { Locator } from 'playwright-core'
import { expect } from 'vitest'
import type { ConsoleUnderTest, Visit } from './open-console.ts'

/** More than most of the times after which the page asks the gateway again. */
const STEP_MS = 5_000

/** A window in which time passes quickly while the test waits. */
export interface HurriedVisit extends Visit {
  /** Waits until the page shows this or no longer shows it. For the page, each look is seconds after the one before. */
  soon(part: Locator, state?: 'shown' | 'gone'): Promise<void>
}

/** Opens it. Its page waits for the clock of the test instead of seconds. */
export async function openHurried(console: ConsoleUnderTest): Promise<HurriedVisit> {
  const visit = await console.openNew()
  const { clock } = visit.page
  await clock.install()
  return Object.assign(visit, {
    async soon(part: Locator, state: 'shown' | 'gone' = 'shown') {
      const isShown = async () => {
        await clock.fastForward(STEP_MS)
        return (await part.count()) > 0
      }
      await expect.poll(isShown).toBe(state === 'shown')
    },
  })
}
