import { source } from 'axe-core'
import type { Page } from 'playwright-core'

interface AxeRun {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly target: unknown; readonly failureSummary?: string }[]
  }[]
}

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** What axe looks at: everything, everything but colours, or colours alone. */
export type Looks = 'all' | 'forms' | 'colours'

const COLOURS = 'color-contrast'
const OPTIONS = {
  all: { runOnly: { type: 'tag', values: RULES } },
  forms: { runOnly: { type: 'tag', values: RULES }, rules: { [COLOURS]: { enabled: false } } },
  colours: { runOnly: { type: 'rule', values: [COLOURS] } },
} as const

/** What axe finds on the page as it is, a line for each place. */
export async function findBarriers(page: Page, looks: Looks = 'all'): Promise<string[]> {
  // Not by a script element: the policy of the page would refuse it.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(source)
  const run = `axe.run(document, ${JSON.stringify({ ...OPTIONS[looks], resultTypes: ['violations'] })})`
  const { violations } = (await page.evaluate(run)) as AxeRun
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id} at ${String(target)}: ${failureSummary}`),
  )
}
