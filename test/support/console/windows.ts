import { type Browser, chromium, type Page } from 'playwright-core'
import { CLICK_COUNTER } from './count-clicks.ts'

const USUAL = { width: 1280, height: 800 }
const EVENTS = ['pageerror', 'console', 'request', 'requestfailed'] as const

let connecting: Promise<Browser> | undefined
// A new window costs a process, which compiles and runs the page for the first time: three times of what most tests cost.
const free: Page[] = []

/** A window with nothing stored, which no other test has at the same time. */
export async function takeWindow(viewport: { readonly width: number; readonly height: number } = USUAL): Promise<Page> {
  const page = free.pop() ?? (await newWindow())
  await page.setViewportSize(viewport)
  return page
}

/** Clears what a test has left in its window, which shows a page of this origin, so that the next one can have it. */
export async function returnWindow(page: Page, origin: string): Promise<void> {
  try {
    await clear(page, origin)
    free.push(page)
  } catch {
    await page.context().close()
  }
}

/** A window of its own, for a test that changes it for good. */
export async function newWindow(): Promise<Page> {
  connecting ??= connect()
  const browser = await connecting
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Asia/Tokyo', viewport: USUAL })
  // It only ends what hangs.
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  await page.addInitScript(CLICK_COUNTER)
  return page
}

async function clear(page: Page, origin: string): Promise<void> {
  const context = page.context()
  for (const event of EVENTS) page.removeAllListeners(event)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await Promise.all(context.pages().map((one) => (one === page ? undefined : one.close())))
  // Chromium starts another process for a page that is not of this origin, such as about:blank.
  await page.goto(`${origin}/livez`)
  await page.evaluate('localStorage.clear(), sessionStorage.clear()')
  await context.clearCookies()
  await page.emulateMedia({ colorScheme: null })
}

async function connect(): Promise<Browser> {
  const address = process.env.TEST_BROWSER
  if (address === undefined) throw new Error('TEST_BROWSER is not set: there is no Chromium')
  return chromium.connect(address)
}
