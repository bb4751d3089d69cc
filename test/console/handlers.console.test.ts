import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { IN_LINE_DUE_AT } from '@oncehook/queue/task'
import { Timestamp } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { changePause } from '../support/console/change-pause.ts'
import { type ClickCount, countClicks } from '../support/console/count-clicks.ts'
import { giveReason } from '../support/console/give-reason.ts'
import { openHurried } from '../support/console/hurried-page.ts'
import type { Visit } from '../support/console/open-console.ts'
import { ALICE, OPERATORS_WITH_READER } from '../support/console/operators-with-reader.ts'
import { type HandledConsole, startHandledConsole } from '../support/console/start-handled-console.ts'

let console: HandledConsole
beforeAll(async () => {
  console = await startHandledConsole(OPERATORS_WITH_READER)
})
afterAll(() => console[Symbol.asyncDispose]())

/** Opens a window, signs in with a token at an address, and counts the clicks from then on. */
async function open(
  path: string,
  { width = 1280, token = ALICE } = {},
): Promise<Visit & { readonly count: ClickCount }> {
  return signIn(await console.open({ width, height: 760 }), path, token)
}

async function signIn<T extends Visit>(
  visit: T,
  path: string,
  token = ALICE,
): Promise<T & { readonly count: ClickCount }> {
  const { page } = visit
  const count = countClicks(page)
  await page.goto(`${console.url}${path}`)
  await page.getByLabel('Operator token').fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
  await count.take()
  return Object.assign(visit, { count })
}

const row = ({ page }: Visit, name: string) => page.getByRole('link', { name, exact: true })
const button = ({ page }: Visit, name: string) => page.getByRole('button', { name, exact: true })
const part = ({ page }: Visit, handler: string) =>
  page.locator('section', { has: page.getByRole('heading', { name: handler, exact: true }) })

/** Lets one handler answer with another status while something is done. */
async function whileAnswering<T>(path: string, status: number, act: () => Promise<T>): Promise<T> {
  console.server.answer = (call) => ({ status: call.path === path ? status : 204 })
  try {
    return await act()
  } finally {
    console.server.answer = () => ({ status: 204 })
  }
}

/** Pays, and lets `billing` refuse its task. */
const payRefused = (eventId: string) => whileAnswering('/billing', 422, () => console.payForAll(eventId))

describe('the list of events', () => {
  it.each([1280, 360])(
    '1: shows the events of one handler, with the marks of all, in an address that shows others the same, at %d px',
    async (width) => {
      const [eventId, other] = [`evt_filter_${width}`, `evt_search_${width}`]
      const tasks = await payRefused(eventId)
      await console.system.events.insertOne(sampleRecord({ eventId: other, handler: 'search' }))
      await using visit = await open('/events', { width })
      await row(visit, other).waitFor()
      const marks = visit.page.getByRole('row').filter({ has: row(visit, eventId) })
      // A narrow window shows the one that needs somebody most, and how many others there are.
      const shown = width === 360 ? ['+2'] : ['fulfilment', 'search']
      for (const mark of ['billing', 'dead', ...shown]) await marks.getByText(mark).first().waitFor()
      expect(await row(visit, eventId).count()).toBe(1)
      expect(await row(visit, eventId).getAttribute('href')).toBe(`/events/${tasks.get('billing')}`)
      await visit.page.getByRole('group', { name: 'Handler' }).getByRole('button', { name: 'billing' }).click()
      await row(visit, other).waitFor({ state: 'detached' })
      await row(visit, eventId).waitFor()
      await visit.page.getByText('Live', { exact: true }).waitFor()
      expect([await visit.count.take(), new URL(visit.page.url()).search]).toEqual([1, '?handler=billing'])
      await console.payForAll(`${eventId}_later`)
      await row(visit, `${eventId}_later`).waitFor()
      await using reader = await open('/events?handler=fulfilment', { width })
      await row(reader, eventId).waitFor()
      expect(await row(reader, eventId).getAttribute('href')).toBe(`/events/${tasks.get('fulfilment')}`)
      expect(await reader.page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false)
      expect([...visit.problems, ...reader.problems]).toEqual([])
    },
  )
})

describe('the page of an event', () => {
  it('shows the tasks of all handlers with links, and 1 + 2: replays one of them', async () => {
    const tasks = await payRefused('evt_tasks')
    await using visit = await open(`/events/${tasks.get('fulfilment')}`)
    const { page } = visit
    const list = page.getByRole('region', { name: 'Tasks of this event' })
    await list.getByRole('row', { name: /^fulfilment \(shown here\).*done/ }).waitFor()
    await list.getByRole('row', { name: /^search.*done/ }).waitFor()
    await list.getByRole('row', { name: /^billing.*dead 1 handler_refused/ }).waitFor()
    await list.getByRole('link', { name: 'billing' }).click()
    await list.getByRole('row', { name: /^billing \(shown here\)/ }).waitFor()
    expect(page.url()).toContain(String(tasks.get('billing')))
    expect(await visit.count.take()).toBe(1)
    await button(visit, 'Replay…').click()
    await page.getByText('1 event will be due again.').waitFor()
    await giveReason(visit, 'it takes them now')
    await button(visit, 'Replay 1 event').click()
    await page.getByText('finished').waitFor()
    expect([await visit.count.take(), visit.problems]).toEqual([2, []])
    const replayed = () =>
      console.system.events.find({ eventId: 'evt_tasks', 'replays.0': { $exists: true } }).toArray()
    await expect
      .poll(async () => (await replayed()).map(({ handler, state }) => [handler, state]))
      .toEqual([['billing', 'done']])
  })
})

it('the page of a task says why it is not sent, and 1: leads to the one that it waits for', async () => {
  const inLine = (i: number) => {
    const place = { line: 'a', lineAt: new Timestamp({ t: 1, i }), dueAt: IN_LINE_DUE_AT } as const
    return sampleRecord({ ...place, handler: 'ordered', state: 'pending', eventId: `evt_in_line_${i}` })
  }
  const [first, next] = [inLine(1), inLine(2)]
  await console.system.events.insertMany([first, next])
  await using visit = await open(`/events/${next._id}`)
  const { page } = visit
  await page.getByText('Its handler is not in the setting.').waitFor()
  await page.getByRole('link', { name: 'an earlier task of its line' }).click()
  await page.getByRole('heading', { name: 'evt_in_line_1' }).waitFor()
  await page.getByText('Its handler is not in the setting.').waitFor()
  expect(await page.getByText('an earlier task of its line').count()).toBe(0)
  expect([await visit.count.take(), visit.problems]).toEqual([1, []])
  await console.system.events.deleteMany({ handler: 'ordered' })
})

describe('the page of handlers', () => {
  it('shows where each is, what it wants, its tasks and its secrets, and leads to them', async () => {
    await payRefused('evt_shown')
    await using visit = await open('/')
    const { page } = visit
    await page.getByRole('link', { name: 'Handlers', exact: true }).click()
    const billing = part(visit, 'billing')
    for (const text of [new URL(console.server.url).host, 'payment.*', '/livemode = true', '2026-11', 'signs', '/id']) {
      await billing.getByText(text, { exact: true }).waitFor()
    }
    await billing.getByText('(a dead task holds up its line)').waitFor()
    expect(await part(visit, 'search').getByText('In order by').count()).toBe(0)
    expect(await part(visit, 'fulfilment').getByText('built in').count()).toBe(1)
    expect(await page.textContent('body')).not.toContain('whsec_')
    await billing.getByText('Dead', { exact: true }).locator('..').getByRole('link').click()
    await row(visit, 'evt_shown').waitFor()
    expect([await visit.count.take(), new URL(page.url()).search]).toEqual([2, '?handler=billing&state=dead'])
    expect(visit.problems).toEqual([])
  })

  it('2: pauses a handler, and 2: resumes it; the first page says which are paused', async () => {
    await using visit = await signIn(await openHurried(console), '/handlers')
    const search = part(visit, 'search')
    for (const does of ['Pause', 'Resume'] as const) {
      await changePause(visit, search, { does, name: 'search', reason: 'its index is being built' })
      expect([does, await visit.count.take()]).toEqual([does, 2])
      if (does === 'Resume') break
      await search.getByText('its index is being built').waitFor()
      await visit.go('/')
      await visit.soon(visit.page.getByRole('link', { name: 'Paused handlers: search' }))
      await visit.go('/handlers')
    }
    expect(visit.problems).toEqual([])
  })

  it('2: gives a handler the stored events that it wants, counted first, and shows the progress', async () => {
    const tasks = await console.payForAll('evt_past')
    await console.system.events.deleteOne({ eventId: 'evt_past', handler: 'billing' })
    await using visit = await open('/handlers')
    await part(visit, 'billing').getByRole('button', { name: 'Backfill…' }).click()
    const dialog = visit.page.getByRole('dialog', { name: 'Give stored events to billing' })
    await dialog.getByText(/^[1-9]\d* stored records will be examined/).waitFor()
    expect(await console.system.events.countDocuments({ eventId: 'evt_past' })).toBe(tasks.size - 1)
    await giveReason(visit, 'it is new')
    await visit.page.keyboard.press('Tab')
    await visit.page.keyboard.type('1000')
    await dialog.getByRole('button', { name: /^Examine \d+ events$/ }).click()
    await visit.page.getByText('finished').waitFor()
    expect([await visit.count.take(), visit.problems]).toEqual([2, []])
    const given = () => console.system.events.countDocuments({ eventId: 'evt_past', handler: 'billing', state: 'done' })
    await expect.poll(given).toBe(1)
  })

  it('2: discards the tasks of a handler that was removed, and says how many', async () => {
    const dead = { handler: 'old-crm', state: 'dead', reason: 'handler_refused' } as const
    await console.system.events.insertMany([sampleRecord(dead), sampleRecord(dead)])
    await using visit = await open('/handlers')
    const removed = part(visit, 'old-crm')
    await removed.getByText('It was removed from the setting.').waitFor()
    expect(await part(visit, 'billing').getByRole('button', { name: 'Discard its tasks…' }).count()).toBe(0)
    await removed.getByRole('button', { name: 'Discard its tasks…' }).click()
    await giveReason(visit, 'replaced by another')
    await button(visit, 'Discard the tasks').click()
    await visit.page.getByText('Discarded 2 tasks of old-crm.').waitFor()
    await removed.waitFor({ state: 'detached' })
    expect([await visit.count.take(), visit.problems]).toEqual([2, []])
    expect(await console.system.events.countDocuments({ handler: 'old-crm', state: 'unhandled' })).toBe(2)
  })
})
