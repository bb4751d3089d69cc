import { paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findBarriers } from '../support/console/find-barriers.ts'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'

let console: ConsoleUnderTest
let deadId: string
let replayId: string
beforeAll(async () => {
  console = await startConsole()
  const { system } = console
  for (const [eventId, amount] of Object.entries({ evt_paid: 300, evt_dead: 1 })) {
    await system.deliver(paymentEvent(eventId, { orderId: await system.order(), amount }))
    await system.until(eventId, ({ state }) => state === 'done' || state === 'dead')
  }
  await system.deliver(paymentEvent('evt_forged'), { secret: 'not-the-secret-of-anybody' })
  await system.operator().providers.pause.mutate({ provider: 'shop', reason: 'to be seen' })
  deadId = String((await system.record('evt_dead'))._id)
  const replayed = await system.operator().events.replay.mutate({ ids: [deadId], reason: 'for the test' })
  replayId = String(replayed.replayId)
  await system.until('evt_dead', ({ state, replays }) => state === 'dead' && replays?.length === 1)
})
afterAll(() => console[Symbol.asyncDispose]())

/** Pages as somebody sees them: the address, and what shows that all is there. */
const PAGES: readonly (readonly [name: string, path: () => string, sign: string])[] = [
  ['events', () => '/events', 'evt_dead'],
  ['no-events', () => '/events?provider=nobody', 'No event matches these filters'],
  ['event', () => `/events/${deadId}`, 'Attempts'],
  ['no-event', () => '/events/000000000000000000000000', 'No event has this id'],
  ['replays', () => '/replays', 'finished'],
  ['receipts', () => '/receipts', 'sent'],
  ['providers', () => '/providers', '/api/webhooks/acme'],
  ['audit', () => '/audit', 'events.replay'],
  ['refused', () => '/refused', 'signature_mismatch'],
  ['health', () => '/health', 'Dead events by reason'],
  ['replay', () => `/replays/${replayId}`, 'finished'],
]

/** The problems of the current page in both themes: those that axe finds, and whether it is wider than the window. */
async function findFaults({ page }: Visit, name: string): Promise<string[]> {
  const faults: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    faults.push(...(await findBarriers(page)).map((barrier) => `${name}, ${colorScheme}: ${barrier}`))
  }
  const isTooWide = (await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')) === true
  return isTooWide ? [...faults, `${name} is wider than the window`] : faults
}

it.each([1280, 360])('no page has an accessibility problem or is too wide for %d px, in any theme', async (width) => {
  await using visit = await console.open({ viewport: { width, height: 760 } })
  const { page } = visit
  await page.goto(`${console.url}/`)
  await page.getByLabel('Operator token').waitFor()
  const faults = await findFaults(visit, 'sign-in')
  await visit.signIn('/')
  for (const [name, path, sign] of PAGES) {
    await visit.go(path())
    await page.getByText(sign).locator('visible=true').first().waitFor()
    faults.push(...(await findFaults(visit, name)))
  }
  expect([...faults, ...visit.problems]).toEqual([])
})

it.each([1280, 360])('no dialog and no body has an accessibility problem in any theme at %d px', async (width) => {
  await using visit = await console.open({ viewport: { width, height: 760 } })
  const { page } = visit
  await visit.signIn(`/events/${deadId}`)
  await page.getByRole('region', { name: 'Raw' }).scrollIntoViewIfNeeded()
  const faults = await findFaults(visit, 'body')
  await page.getByRole('button', { name: 'Replay…' }).click()
  await page.getByText('1 event will be due again.').waitFor()
  faults.push(...(await findFaults(visit, 'replay-dialog')))
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).waitFor()
  faults.push(...(await findFaults(visit, 'keys')))
  await page.keyboard.press('Escape')
  await visit.go('/providers')
  await page.getByRole('button', { name: 'Rotate a secret…' }).first().click()
  await page.getByRole('dialog', { name: 'Rotate a secret of acme' }).waitFor()
  faults.push(...(await findFaults(visit, 'rotation')))
  expect([...faults, ...visit.problems]).toEqual([])
})
