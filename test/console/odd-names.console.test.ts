import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConsoleUnderTest, startConsole } from '../support/console/open-console.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
})
afterAll(() => console[Symbol.asyncDispose]())

/** Addresses that anybody can make, and the sign that their page is loaded. */
const ADDRESSES: readonly (readonly [address: string, sign: string])[] = [
  ['/events?reason=NAME', 'No event matches these filters'],
  ['/events?provider=NAME&order=NAME', 'No event matches these filters'],
  ['/events?handler=NAME', 'No event matches these filters'],
  ['/events?state=NAME&duplicates=NAME&tests=NAME&from=NAME', 'No events yet'],
  ['/events?NAME=1', 'No events yet'],
  ['/events?typed=NAME&find=NAME&text=NAME', 'No events yet'],
  ['/refused?reason=NAME&provider=NAME', 'No refused delivery matches these filters'],
  ['/refused?NAME=1', 'No delivery was refused'],
  ['/receipts?state=NAME&NAME=1', 'No receipt is in this state'],
  ['/events/NAME', 'not_found'],
  ['/replays/NAME', 'No replay has this id'],
]

it.each(['constructor', '__proto__'])('%s in an address is a name like any other', async (name) => {
  await using visit = await console.open()
  const { page } = visit
  await visit.signIn('/')
  for (const [address, sign] of ADDRESSES) {
    await visit.go(address.replaceAll('NAME', name))
    await page.getByText(sign).locator('visible=true').first().waitFor()
    const content = await page.locator('#content').textContent()
    expect([address, /function|native code|\[object/.exec(content ?? '')]).toEqual([address, null])
  }
  expect(visit.problems).toEqual([])
})
