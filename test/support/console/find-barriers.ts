import { source } from 'axe-core'
import type { Page } from 'playwright-core'

interface AxeRun {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[]
  }[]
}

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What axe finds on the page as it is, a line for each place. */
export async function findBarriers(page: Page): Promise<string[]> {
  // Not by a script element: the policy of the page would refuse it.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(source)
  const run = `axe.run(document, ${JSON.stringify({ runOnly: { type: 'tag', values: RULES } })})`
  const { violations } = (await page.evaluate(run)) as AxeRun
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id} at ${String(target)}: ${failureSummary}`),
  )
}
