import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

/** The folder that a measurement of coverage has made: `npm run coverage:console`. */
export const COVERAGE_FOLDER = process.env.CONSOLE_COVERAGE

/** If coverage is measured, Chromium counts the code that runs. Call the result before the page closes to write it. */
export async function recordCoverage({ coverage }: Page): Promise<() => Promise<void>> {
  const folder = COVERAGE_FOLDER
  if (folder === undefined) return async () => {}
  await coverage.startJSCoverage({ resetOnNavigation: false })
  return async () => {
    const scripts = await coverage.stopJSCoverage()
    const counts = scripts.map(({ url, functions }) => ({ url, functions }))
    await writeFile(join(folder, `${randomUUID()}.json`), JSON.stringify(counts))
  }
}
