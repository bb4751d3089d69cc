import { chromium } from 'playwright-core'
import { findTool } from '../../../scripts/tools/find-tool.ts'

const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
]

/** vitest's set-up of the console's tests: one Chromium for all, if there is one. `TEST_BROWSER` is its address. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  const executablePath = await findTool('chromium')
  if (executablePath === null) return undefined
  const server = await chromium.launchServer({ executablePath, args: ARGUMENTS })
  process.env.TEST_BROWSER = server.wsEndpoint()
  return () => server.close()
}
