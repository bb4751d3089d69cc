import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { findBarriers, type Looks } from '../support/console/find-barriers.ts'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'

/** What axe looks at in each theme. Colours do not depend on the width, and forms do not depend on the theme. */
const WIDTHS = [
  { width: 1280, themes: { light: 'all', dark: 'colours' } },
  { width: 768, themes: {} },
  { width: 360, themes: { light: 'forms' } },
] as const
type Themes = Readonly<Partial<Record<'light' | 'dark', Looks>>>

let console: ConsoleUnderTest
let deadId: string
let replayId: string
let taskId: string
// The longest name that a handler can have.
const CRM = 'c'.repeat(63)
const HANDLERS = JSON.stringify({
  [CRM]: {
    https: 'http://127.0.0.1:9/hook',
    secrets: [
      {
        id: '1',
        value: `whsec_${Buffer.alloc(32, 'key of nobody').toString('base64')}`,
        notAfter: '2036-11-26T12:00:00Z',
      },
    ],
    events: [{ provider: 'acme', types: ['customer.*'], where: { '/data/object/livemode': true } }],
    paused: true,
  },
})
beforeAll(async () => {
  console = await startConsole({ HANDLERS })
  const { system } = console
  for (const [eventId, amount] of Object.entries({ evt_paid: 300, evt_dead: 1 })) {
    await system.deliver(paymentEvent(eventId, { orderId: await system.order(), amount }))
    await system.until(eventId, ({ state }) => state === 'done' || state === 'dead')
  }
  await system.operator().events.sendTest.mutate({ provider: 'shop', reason: 'to be seen' })
  await parkReceipt(await system.order())
  await system.deliver(paymentEvent('evt_forged'), { secret: 'not-the-secret-of-anybody' })
  await system.operator().providers.pause.mutate({ provider: 'shop', reason: 'to be seen' })
  taskId = await leaveTasks()
  await system.operator().handlers.pause.mutate({ handler: CRM, reason: 'to be seen' })
  deadId = String((await system.record('evt_dead'))._id)
  const replayed = await system.operator().events.replay.mutate({ ids: [deadId], reason: 'for the test' })
  replayId = String(replayed.replayId)
  await system.until('evt_dead', ({ state, replays }) => state === 'dead' && replays?.length === 1)
})
afterAll(() => console[Symbol.asyncDispose]())

/** Stores an event with tasks of two handlers, one of which was removed. Resolves to the id of one of them. */
async function leaveTasks(): Promise<string> {
  const event = { eventId: 'evt_tasks', type: 'customer.updated', reason: 'handler_refused', state: 'dead' } as const
  const tasks = [sampleRecord({ ...event, handler: CRM }), sampleRecord({ ...event, handler: 'old-crm' })]
  const { insertedIds } = await console.system.events.insertMany(tasks)
  return String(insertedIds[0])
}

/** Pays an order, and changes its record as if its receipt could not be delivered. */
async function parkReceipt(orderId: string): Promise<void> {
  const { events, deliver } = console.system
  await deliver(paymentEvent('evt_parked', { orderId }))
  const orders = events.db.client.db(`${events.dbName}_fulfilment`).collection<{ _id: string }>('orders')
  await vi.waitUntil(() => orders.countDocuments({ _id: orderId, 'receipts.0.state': 'sent' }), { timeout: 120_000 })
  await orders.updateOne({ _id: orderId }, { $set: { 'receipts.0.state': 'parked', 'receipts.0.dueAt': null } })
}

/** Pages as a user sees them: the address, and the sign that everything is loaded. */
const PAGES: readonly (readonly [name: string, path: () => string, sign: string])[] = [
  ['events', () => '/events', 'evt_dead'],
  ['no-events', () => '/events?provider=nobody', 'No event matches these filters'],
  ['event', () => `/events/${deadId}`, 'Attempts'],
  ['no-event', () => '/events/000000000000000000000000', 'No event has this id'],
  ['replays', () => '/replays', 'finished'],
  ['receipts', () => '/receipts', 'sent'],
  ['providers', () => '/providers', '/api/webhooks/acme'],
  ['handlers', () => '/handlers', 'customer.*'],
  ['tasks', () => `/events/${taskId}`, 'Tasks of this event'],
  ['events-of-handler', () => '/events?handler=old-crm', 'evt_tasks'],
  ['audit', () => '/audit', 'events.replay'],
  ['refused', () => '/refused', 'signature_mismatch'],
  ['no-refused', () => '/refused?reason=nothing', 'No refused delivery matches these filters'],
  ['test-events', () => '/events?tests=only', 'test_'],
  ['overview', () => '/', 'Waiting, by age'],
  ['replay', () => `/replays/${replayId}`, 'finished'],
  ['sessions', () => '/sessions', 'this one'],
]

/** The problems of the current page in these themes: those that axe finds, and whether it is wider than the window. */
async function findFaults({ page }: Visit, name: string, themes: Themes): Promise<string[]> {
  const faults: string[] = []
  for (const [colorScheme, looks] of Object.entries(themes) as ['light' | 'dark', Looks][]) {
    await page.emulateMedia({ colorScheme })
    faults.push(...(await findBarriers(page, looks)).map((barrier) => `${name}, ${colorScheme}: ${barrier}`))
  }
  const isTooWide = (await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')) === true
  return isTooWide ? [...faults, `${name} is wider than the window`] : faults
}

it.each(WIDTHS)('no page has an accessibility problem or is too wide for $width px', async ({ width, themes }) => {
  await using visit = await console.open({ width, height: 760 })
  const { page } = visit
  await page.goto(`${console.url}/`)
  await page.getByLabel('Operator token').waitFor()
  const faults = await findFaults(visit, 'sign-in', themes)
  await visit.signIn('/')
  for (const [name, path, sign] of PAGES) {
    await visit.go(path())
    await page.getByText(sign).locator('visible=true').first().waitFor()
    faults.push(...(await findFaults(visit, name, themes)))
  }
  expect([...faults, ...visit.problems]).toEqual([])
})

/** Dialogs: the page, the whole name of the button that opens one, and the sign that everything is loaded. */
const DIALOGS: readonly (readonly [path: () => string, button: string, sign: string])[] = [
  [() => `/events/${deadId}`, 'Replay…', '1 event will be due again.'],
  [() => `/events/${deadId}`, 'Close…', 'Close the event'],
  [() => `/events/${deadId}`, 'Correct the order…', 'Correct the order and replay'],
  [() => '/refused', 'signature_mismatch', 'Causes, most likely first'],
  [() => '/receipts?state=parked', 'Release…', 'Release the receipt'],
  [() => '/providers', 'Pause…', 'Pause acme'],
  [() => '/providers', 'Send a test event…', 'Send the test event'],
  [() => '/providers', 'Rotate a secret…', 'Enter the new secret at the provider.'],
  // Only this page has such a button, so it is there when the next one is looked for.
  [() => '/handlers', 'Backfill…', 'Examine 1 event'],
  [() => '/handlers', 'Pause…', 'Pause fulfilment'],
  [() => '/handlers', 'Discard its tasks…', 'Discard the tasks'],
  [() => '/audit', 'providers.pause', 'Details'],
  [() => '/sessions', 'End all sessions of alice…', 'The browser must sign in again'],
  [() => '/events', 'Keys ?', 'Use these keys'],
]

/** Whether the open dialog shows its beginning, and what has the focus: its title, or the first field of its form. */
const BEGINNING = `(() => {
  const dialog = document.querySelector('dialog[open]')
  const first = dialog.querySelector('form input') ?? dialog.querySelector('h2')
  const focused = document.activeElement
  return [
    ...(dialog.scrollTop === 0 ? [] : ['is scrolled by ' + dialog.scrollTop + ' px']),
    ...(focused === first ? [] : ['has the focus at ' + focused.tagName + ' ' + focused.textContent]),
  ]
})()`

it.each([WIDTHS[0], WIDTHS[2]])(
  'every dialog shows its beginning, has the focus there and has no accessibility problem at $width px',
  async ({ width, themes }) => {
    await using visit = await console.open({ width, height: 400 })
    const { page } = visit
    await visit.signIn(`/events/${deadId}`)
    await page.getByRole('region', { name: 'Raw' }).scrollIntoViewIfNeeded()
    const faults = await findFaults(visit, 'body', themes)
    for (const [path, button, sign] of DIALOGS) {
      await visit.go(path())
      await page.getByRole('button', { name: button, exact: true }).first().click()
      await page.getByRole('dialog').getByText(sign).first().waitFor()
      const found = await page.evaluate<string[]>(BEGINNING)
      faults.push(...found.map((fault) => `dialog of ${button} ${fault}`))
      faults.push(...(await findFaults(visit, `dialog of ${button}`, themes)))
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    expect([...faults, ...visit.problems]).toEqual([])
  },
)
