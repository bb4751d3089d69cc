import { resolve } from 'node:path'
import { type OperatedSystem, startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Locator, Page } from 'playwright-core'
import { newWindow, returnWindow, takeWindow } from './windows.ts'

/** Chromium, and the system whose page it shows. */
export interface ConsoleUnderTest extends AsyncDisposable {
  readonly system: OperatedSystem
  readonly url: string
  /** Opens a separate window, with nothing stored. */
  open(viewport?: { readonly width: number; readonly height: number }): Promise<Visit>
  /** Opens one that no other test has later, for what cannot be undone. */
  openNew(): Promise<Visit>
}

/** A window with the page, and what its user does. */
export interface Visit extends AsyncDisposable {
  readonly page: Page
  /** The complaints of the browser, and requests that left the origin. */
  readonly problems: readonly string[]
  /** Goes to an address of the page and signs in there, whoever was signed in before. */
  signIn(path?: string, name?: 'alice' | 'bob'): Promise<void>
  /** Goes to an address inside the page, which is not loaded again. */
  go(path: string): Promise<void>
  /** Types this into the search box of the events and presses Enter. Default: an id. */
  search(text: string, where?: 'ids' | 'bodies'): Promise<void>
  /** Clicks and counts it. */
  click(target: Locator): Promise<void>
  /** The clicks since the last call. */
  clicks(): number
}

const DIST = resolve(import.meta.dirname, '../../../packages/console/dist')

/** Starts a system, with these settings of its gateway. */
export async function startConsole(settings?: Readonly<Record<string, string>>): Promise<ConsoleUnderTest> {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await testDatabase(process.env))
  const system = resources.use(
    await startOperatedSystem(database, { consoleFolder: DIST, ...(settings === undefined ? {} : { settings }) }),
  )
  const owned = resources.move()
  return {
    system,
    url: system.gateway.adminUrl,
    open: async (viewport) => {
      const page = await takeWindow(viewport)
      return visit(system, page, () => returnWindow(page, system.gateway.adminUrl))
    },
    openNew: async () => {
      const page = await newWindow()
      return visit(system, page, () => page.context().close())
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function visit(system: OperatedSystem, page: Page, close: () => Promise<void>): Visit {
  const url = system.gateway.adminUrl
  const problems: string[] = []
  watch(page, url, problems)
  let clicks = 0
  return {
    page,
    problems,
    async signIn(path = '/', name = 'alice') {
      await page.context().clearCookies()
      await page.goto(`${url}${path}`)
      await page.getByLabel('Operator token').fill(system.tokens.operators[name])
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
    },
    async go(path) {
      const change = `history.pushState({}, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`
      await page.evaluate(change)
    },
    async search(text, where = 'ids') {
      await page.getByLabel('text in bodies').setChecked(where === 'bodies')
      await page.getByRole('searchbox').fill(text)
      await page.getByRole('searchbox').press('Enter')
    },
    async click(target) {
      clicks += 1
      await target.click()
    },
    clicks() {
      const counted = clicks
      clicks = 0
      return counted
    },
    [Symbol.asyncDispose]: close,
  }
}

function watch(page: Page, url: string, problems: string[]): void {
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    // A refused call is shown to the user; the browser has a line for it as well.
    const isRefusedCall = message.text().startsWith('Failed to load resource')
    if (['error', 'warning'].includes(message.type()) && !isRefusedCall) problems.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) problems.push(`a request to ${request.url()}`)
  })
}
