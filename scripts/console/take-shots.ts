import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { ConsoleUnderTest } from '../../test/support/console/open-console.ts'
import type { SeededShop } from './seed-shop.ts'

/** A page, and what shows that all of it is there. */
interface Sight {
  readonly name: string
  readonly path: (shop: SeededShop) => string
  readonly sign: string
}

const SIGHTS: readonly Sight[] = [
  { name: 'events', path: () => '/events', sign: 'Live' },
  { name: 'event', path: ({ deadEvent }) => `/events/${deadEvent}`, sign: 'Attempts' },
  { name: 'refused', path: () => '/refused', sign: 'signature_mismatch' },
  { name: 'replays', path: () => '/replays', sign: 'finished' },
  { name: 'replay', path: ({ replay }) => `/replays/${replay}`, sign: 'finished' },
  { name: 'receipts', path: () => '/receipts', sign: 'Release…' },
  { name: 'providers', path: () => '/providers', sign: '/api/webhooks/stripe' },
  { name: 'audit', path: () => '/audit', sign: 'providers.pause' },
  { name: 'health', path: () => '/health', sign: 'Dead events by reason' },
]

const SIZES = { wide: { width: 1_280, height: 640 }, narrow: { width: 360, height: 760 } } as const
const THEMES = ['light', 'dark'] as const

/** Which pictures are written: by name, theme and size. */
export type WantedShots = (name: string, theme: (typeof THEMES)[number], size: keyof typeof SIZES) => boolean

/** Writes pictures of the pages of a system into a folder, as WebP. Resolves to the paths of the files. */
export async function takeShots(
  console: ConsoleUnderTest,
  shop: SeededShop,
  { folder, isWanted }: { readonly folder: string; readonly isWanted: WantedShots },
): Promise<string[]> {
  const files: string[] = []
  for (const size of ['wide', 'narrow'] as const) {
    await using visit = await console.open({ viewport: SIZES[size] })
    await visit.signIn('/')
    for (const { name, path, sign } of SIGHTS) {
      await visit.go(path(shop))
      await visit.page.mouse.move(0, 0)
      await visit.page.getByText(sign, { exact: true }).locator('visible=true').first().waitFor()
      for (const theme of THEMES.filter((one) => isWanted(name, one, size))) {
        await visit.page.emulateMedia({ colorScheme: theme })
        const file = join(folder, `${name}-${theme}-${size}.webp`)
        await writeFile(file, await shoot(visit.page))
        files.push(file)
      }
    }
  }
  return files
}

/** A picture of the window. Playwright itself writes no WebP. */
async function shoot(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 70 })
  await session.detach()
  return Buffer.from(data, 'base64')
}
