import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { type FilterStep, showAll } from './filter-steps.ts'

/** A phase of a visit: until the first rows, while filters are chosen, while the live list is left alone. */
export type VisitPhase = 'opening' | 'filtering' | 'following'

/** The measurements of a visit. Times are in milliseconds, by the page's own clock. */
export interface Visit {
  readonly firstPaintMs: number
  readonly firstRowsMs: number
  /** Name of the filter -> time from the choice to the frame with its rows. */
  readonly filterMs: Readonly<Record<string, number>>
  /** Tasks that blocked the page for more than 50 ms. */
  readonly longTasks: readonly { readonly phase: VisitPhase; readonly ms: number }[]
  /** Messages of the stream of changes. */
  readonly messages: number
  /** Changes that the stream left out because the page or its connection was too slow. */
  readonly skipped: number
  readonly longestGapMs: number
  /** The memory of the page's script at the end. */
  readonly heapMib: number
}

/** What the page's probe has found. */
type Found = Omit<Visit, 'filterMs' | 'heapMib'>

/** How to visit the page. */
export interface VisitPlan {
  /** A link that signs in once. */
  readonly link: string
  readonly filters: readonly FilterStep[]
  readonly followMs: number
}

const PROBE = join(import.meta.dirname, 'page-probe.js')
const WINDOW = { width: 1_280, height: 800 }
const MIB = 2 ** 20

/** Opens the page in a new window, chooses each filter once, follows the live list, and returns the measured times. */
export async function visitPage(browser: Browser, { link, filters, followMs }: VisitPlan): Promise<Visit> {
  await using window = await openWindow(browser)
  const { page, context } = window
  await page.goto(link)
  await page.evaluate('window.probe.opened()')
  const filterMs: Record<string, number> = {}
  await page.evaluate('window.probe.enter("filtering")')
  for (const { name, choose } of filters) {
    filterMs[name] = await timed(page, choose)
    await timed(page, showAll)
  }
  await page.evaluate('window.probe.enter("following")')
  await page.waitForTimeout(followMs)
  const found = (await page.evaluate('window.probe.found()')) as Found
  return { ...found, filterMs, heapMib: await heapMib(context, page) }
}

async function openWindow(browser: Browser) {
  const context = await browser.newContext({ locale: 'en-GB', viewport: WINDOW })
  await context.addInitScript({ path: PROBE })
  return { context, page: await context.newPage(), [Symbol.asyncDispose]: () => context.close() }
}

async function timed(page: Page, choose: FilterStep['choose']): Promise<number> {
  await page.evaluate('window.probe.arm()')
  await choose(page)
  return Number(await page.evaluate('window.probe.measured()'))
}

async function heapMib(context: BrowserContext, page: Page): Promise<number> {
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable')
  const { metrics } = await session.send('Performance.getMetrics')
  return (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN) / MIB
}
