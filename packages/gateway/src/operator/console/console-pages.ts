/** The first segments of the paths of the operator's page. The page itself decides what it shows there. */
const PAGES: ReadonlySet<string> = new Set([
  ...['events', 'refused', 'replays', 'providers', 'handlers', 'receipts', 'audit', 'health', 'sign-in'],
])

/** Whether a path is one of the operator's page. */
export function isConsolePage(path: string): boolean {
  return path === '/' || PAGES.has(path.split('/', 2)[1] ?? '')
}
