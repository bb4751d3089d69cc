import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import type { Page } from 'playwright-core'
import { BUSY_PROVIDER, SILENT_PROVIDER } from './mixed-events.ts'

/** A filter that a user chooses in the list of events. */
export interface FilterStep {
  readonly name: string
  readonly choose: (page: Page) => Promise<void>
}

/** Removes all filters. */
export async function showAll(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Clear' }).click()
}

/** One filter of each kind. The event is an old one, so that searches for its ids do not find it early by chance. */
export function filterSteps(known: EventDocument): readonly FilterStep[] {
  return [
    { name: 'state: done', choose: chooseState('done') },
    { name: 'state: dead', choose: chooseState('dead') },
    { name: 'provider with most events', choose: chooseProvider(BUSY_PROVIDER) },
    { name: 'provider that is silent', choose: chooseProvider(SILENT_PROVIDER) },
    { name: 'changed copies', choose: (page) => choose(page, 'Duplicates', 'changed') },
    { name: 'last hour', choose: (page) => page.getByRole('button', { name: 'Last hour' }).click() },
    { name: 'event id', choose: find(known.eventId) },
    { name: 'order id', choose: find(known.orderId) },
    { name: 'payment id', choose: find(known.objectId) },
    { name: 'text of many bodies', choose: findInBodies('payment_intent') },
    { name: 'text of one old body', choose: findInBodies(known.objectId) },
  ]
}

function chooseState(state: string): FilterStep['choose'] {
  return (page) => page.getByLabel('State').getByRole('link', { name: state, exact: true }).click()
}

function chooseProvider(provider: string): FilterStep['choose'] {
  return (page) => page.getByRole('group', { name: 'Provider' }).getByRole('button', { name: provider }).click()
}

async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).selectOption(option)
}

function find(text: string): FilterStep['choose'] {
  return async (page) => {
    const box = page.getByRole('searchbox')
    await box.fill(text)
    await box.press('Enter')
  }
}

function findInBodies(text: string): FilterStep['choose'] {
  return async (page) => {
    await page.getByLabel('text in bodies').setChecked(true)
    await find(text)(page)
  }
}
