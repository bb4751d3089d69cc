import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { ConsoleUnderTest, Visit } from '../../test/support/console/open-console.ts'
import type { SeededShop } from './seed-shop.ts'

/** A page, and the text that shows that it has loaded completely. */
interface Sight {
  readonly name: string
  readonly path: (shop: SeededShop) => string
  readonly sign: string
  /** The button that opens the dialog to show, by its whole name. Without it, the page itself is shown. */
  readonly press?: string
}

const SIGHTS: readonly Sight[] = [
  { name: 'events', path: () => '/events', sign: 'Live' },
  { name: 'event', path: ({ deadEvent }) => `/events/${deadEvent}`, sign: 'Attempts' },
  { name: 'refused', path: () => '/refused', sign: 'signature_mismatch' },
  { name: 'replays', path: () => '/replays', sign: 'finished' },
  { name: 'replay', path: ({ replay }) => `/replays/${replay}`, sign: 'finished' },
  { name: 'receipts', path: () => '/receipts', sign: 'Release…' },
  { name: 'providers', path: () => '/providers', sign: '/api/webhooks/stripe' },
  { name: 'handlers', path: () => '/handlers', sign: 'payment.*' },
  { name: 'backfill', path: () => '/handlers', sign: 'payment.*', press: 'Backfill…' },
  { name: 'discard', path: () => '/handlers', sign: 'payment.*', press: 'Discard its tasks…' },
  { name: 'tasks', path: () => '/events?handler=billing&state=dead', sign: 'Live' },
  { name: 'audit', path: () => '/audit', sign: 'providers.pause' },
  { name: 'replay-dialog', path: () => '/events?state=dead', sign: 'Live', press: 'Replay these…' },
  { name: 'refusal', path: () => '/refused', sign: 'signature_mismatch', press: 'signature_mismatch' },
  { name: 'release', path: () => '/receipts', sign: 'Release…', press: 'Release…' },
  { name: 'rotation', path: () => '/providers', sign: '/api/webhooks/stripe', press: 'Rotate a secret…' },
  { name: 'test-event', path: () => '/providers', sign: '/api/webhooks/stripe', press: 'Send a test event…' },
  { name: 'pause', path: () => '/providers', sign: '/api/webhooks/stripe', press: 'Pause…' },
  { name: 'entry', path: () => '/audit', sign: 'providers.pause', press: 'providers.pause' },
  {
    name: 'correction',
    path: ({ deadEvent }) => `/events/${deadEvent}`,
    sign: 'Attempts',
    press: 'Correct the order…',
  },
  { name: 'keys', path: () => '/', sign: 'received', press: 'Keys ?' },
  { name: 'no-match', path: () => '/events?reason=nothing', sign: 'No event matches these filters' },
  { name: 'no-event', path: () => '/events/000000000000000000000000', sign: 'not_found' },
  { name: 'duplicates', path: () => '/events?duplicates=repeated', sign: 'Live' },
  { name: 'overview', path: () => '/', sign: 'received' },
]

const SIZES = {
  wide: { width: 1_280, height: 640 },
  middle: { width: 768, height: 1_024 },
  narrow: { width: 360, height: 760 },
} as const
const THEMES = ['light', 'dark'] as const

/** Whether a picture is written, by name, theme and size. */
export type WantedShots = (name: string, theme: (typeof THEMES)[number], size: keyof typeof SIZES) => boolean

/** Writes pictures of the pages of a system into a folder, as WebP. Resolves to the paths of the files. */
export async function takeShots(
  console: ConsoleUnderTest,
  shop: SeededShop,
  { folder, isWanted }: { readonly folder: string; readonly isWanted: WantedShots },
): Promise<string[]> {
  const files: string[] = []
  for (const size of ['wide', 'middle', 'narrow'] as const) {
    await using visit = await console.open(SIZES[size])
    await visit.signIn('/')
    for (const sight of SIGHTS) {
      const { name } = sight
      const themes = THEMES.filter((theme) => isWanted(name, theme, size))
      if (themes.length > 0) await open(visit, sight, shop)
      for (const theme of themes) {
        await visit.page.emulateMedia({ colorScheme: theme })
        const file = join(folder, `${name}-${theme}-${size}.webp`)
        await writeFile(file, await shoot(visit.page))
        files.push(file)
      }
    }
  }
  return files
}

async function open({ page, go }: Visit, { path, sign, press }: Sight, shop: SeededShop): Promise<void> {
  await page.keyboard.press('Escape')
  await go(path(shop))
  await page.mouse.move(0, 0)
  await page.getByText(sign, { exact: true }).locator('visible=true').first().waitFor()
  if (press === undefined) return
  await page.getByRole('button', { name: press, exact: true }).first().click()
  await page.getByRole('dialog').waitFor()
}

/** Takes a picture of the window. Playwright itself cannot write WebP. */
async function shoot(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 70 })
  await session.detach()
  return Buffer.from(data, 'base64')
}
