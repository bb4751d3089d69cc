import { hash, randomUUID } from 'node:crypto'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { pageHeaders } from '@oncehook/gateway/testing/start-operated-system'
import type { Route } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'
import { pay } from '../support/console/pay.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
})
afterAll(() => console[Symbol.asyncDispose]())

const row = ({ page }: Visit, eventId: string) => page.getByRole('link', { name: eventId, exact: true })

// Within one task: the page has no time to render in between.
const CLICK_TWO = `(() => {
  const named = (text) => [...document.querySelectorAll('search .chip')].find((one) => one.textContent === text)
  for (const text of ['Without test events', 'dead']) named(text).click()
})()`

/** The page gives up on a call after a hundredth of its time. */
const IMPATIENT = `(() => {
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  AbortSignal.timeout = (ms) => timeout(ms === 5_000 ? 50 : ms)
})()`

describe('the list of events', () => {
  it('shows times in the zone of the viewer, and UTC on hover', async () => {
    await pay(console, 'evt_time')
    await using visit = await console.open()
    await visit.signIn('/events')
    await visit.search('evt_time')
    const time = visit.page.locator('tbody time').first()
    await time.waitFor()
    const at = new Date((await time.getAttribute('datetime')) ?? '')
    const local = at.toLocaleString('sv-SE', { timeZone: 'Asia/Tokyo', dateStyle: 'short', timeStyle: 'medium' })
    const utc = `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`
    expect([await time.getAttribute('title'), await time.innerText()]).toEqual([
      `${local} · ${utc}`,
      expect.stringMatching(/^(?:now|\d+ (?:s|min) ago)$/),
    ])
  })

  it('counts each state, and is filtered by state, provider, type, reason and time with one choice each, which a click removes', async () => {
    await pay(console, 'evt_good')
    await pay(console, 'evt_bad', 1)
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn('/events')
    await row(visit, 'evt_good').waitFor()
    const dead = await console.system.events.countDocuments({ state: 'dead' })

    await visit.click(page.getByLabel('State').getByRole('link', { name: `dead ${dead}`, exact: true }))
    await row(visit, 'evt_good').waitFor({ state: 'detached' })
    await row(visit, 'evt_bad').waitFor()
    expect([visit.clicks(), new URL(page.url()).search]).toEqual([1, '?state=dead'])
    expect(await page.locator('search [aria-current="page"]').allTextContents()).toEqual(['dead'])

    await page.getByLabel('Provider', { exact: true }).selectOption('shop')
    await page.getByText('No event matches these filters').waitFor()
    await page.getByLabel('Provider', { exact: true }).selectOption('acme')
    await row(visit, 'evt_bad').waitFor()
    await page.getByLabel('Received', { exact: true }).selectOption('Last hour')
    await page.getByRole('link', { name: /^Remove the filter From/ }).waitFor()
    await page.getByLabel('Type', { exact: true }).selectOption('payment.succeeded')
    await page.getByRole('link', { name: /^Remove the filter Type payment.succeeded/ }).click()
    await row(visit, 'evt_bad').waitFor()
    await page.getByLabel('Reason', { exact: true }).selectOption({ index: 1 })
    await page.getByRole('link', { name: /^Remove the filter Reason amount_mismatch/ }).waitFor()
    await row(visit, 'evt_bad').waitFor()
    const { searchParams } = new URL(page.url())
    expect([...searchParams.keys()].toSorted()).toEqual(['from', 'provider', 'reason', 'state'])

    await using other = await console.open()
    await other.signIn(`/events${new URL(page.url()).search}`)
    await row(other, 'evt_bad').waitFor()
    expect(await row(other, 'evt_good').count()).toBe(0)
    expect([...visit.problems, ...other.problems]).toEqual([])
  })

  it('keeps a filter that is chosen just before another one', async () => {
    await pay(console, 'evt_both', 1)
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn('/events')
    await row(visit, 'evt_both').waitFor()
    await page.evaluate(CLICK_TWO)
    await page.waitForURL((url) => url.search === '?state=dead&tests=without')
    expect(visit.problems).toEqual([])
  })

  it('finds an event, an order and a payment by their ids in one box, reached by a key', async () => {
    const { orderId } = await pay(console, 'evt_found')
    await pay(console, 'evt_other')
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn('/events')
    await row(visit, 'evt_other').waitFor()
    for (const text of ['evt_found', orderId, 'pay_evt_found']) {
      await page.keyboard.press('/')
      await page.keyboard.press('ControlOrMeta+a')
      await page.keyboard.type(text)
      await page.keyboard.press('Enter')
      // The address changes before the list.
      await row(visit, 'evt_other').waitFor({ state: 'detached' })
      await row(visit, 'evt_found').waitFor()
      await page.getByRole('heading', { name: 'Events' }).click()
    }
    expect([visit.clicks(), visit.problems]).toEqual([0, []])
  })

  it('finds a text in bodies with one click, which is audited, and is not live then', async () => {
    const eventId = `evt_text_${randomUUID()}`
    await pay(console, eventId)
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn('/events')
    await row(visit, eventId).waitFor()
    await visit.click(page.getByLabel('text in bodies'))
    const text = `"id":"pay_${eventId}"`
    const addresses: string[] = []
    page.on('request', (request) => addresses.push(request.url()))
    page.on('framenavigated', (frame) => addresses.push(frame.url()))
    await page.getByRole('searchbox').fill(text)
    await page.keyboard.press('Enter')
    await page.getByText('1 event', { exact: true }).waitFor()
    await row(visit, eventId).waitFor()
    await page.getByText('Not live: this search').waitFor()
    const { items } = await console.system.operator().audit.list.query()
    const textHash = hash('sha256', text)
    expect(items.filter(({ details }) => details.textHash === textHash)).toEqual([
      expect.objectContaining({ by: 'alice', action: 'events.search-bodies', details: { textHash } }),
    ])
    expect([visit.clicks(), visit.problems]).toEqual([1, []])
    const typed = () => page.getByRole('searchbox').inputValue()
    await page.goBack()
    await expect.poll(typed).toBe('')
    await page.goForward()
    await expect.poll(typed).toBe(text)
    addresses.push(page.url())
    expect(addresses.length).toBeGreaterThan(2)
    expect(addresses.filter((address) => decodeURIComponent(address).includes(eventId))).toEqual([])
  })

  it('is navigated with j and k, and Enter opens an event', async () => {
    await pay(console, 'evt_key_1')
    await pay(console, 'evt_key_2')
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn('/events')
    await row(visit, 'evt_key_1').waitFor()
    for (const key of ['j', 'j', 'k', 'j', 'Enter']) await page.keyboard.press(key)
    await page.getByRole('heading', { name: 'evt_key_1' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await page.keyboard.press('e')
    await page.getByRole('heading', { name: 'Events', exact: true }).waitFor()
    expect([visit.clicks(), visit.problems]).toEqual([0, []])
  })
})

describe('an event', () => {
  it('shows facts, headers, attempts and its body, formatted and raw, at once, which is audited once', async () => {
    const eventId = `evt_body_${randomUUID()}`
    const { id } = await pay(console, eventId)
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn(`/events/${id}`)
    await page.getByText('applied').first().waitFor()
    await page.getByText('newer', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Formatted' }).getByText(`"id": "pay_${eventId}"`).waitFor()
    await page.getByRole('region', { name: 'Raw' }).getByText(`"id":"pay_${eventId}"`).waitFor()
    await page.getByText('content-type: ').waitFor()
    await page.getByText('stripe-signature: ').waitFor()
    await page.getByText('The audit log has recorded that you opened this page').waitFor()
    const { items } = await console.system.operator().audit.list.query()
    expect(items.filter(({ details }) => details.id === id)).toEqual([
      expect.objectContaining({ by: 'alice', action: 'events.read-body' }),
    ])
    await page.getByLabel('Search in the body').fill(`PAY_${eventId}`)
    await expect.poll(() => page.locator('mark').allTextContents()).toEqual([expect.stringContaining(`pay_${eventId}`)])
    expect([visit.clicks(), visit.problems]).toEqual([0, []])
  })

  it('has a life, from its receipt to that of the customer, with the time between the steps', async () => {
    const { id } = await pay(console, `evt_life_${randomUUID()}`)
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn(`/events/${id}`)
    const steps = page.getByRole('list', { name: 'Attempts' }).getByRole('listitem')
    await steps.getByText('receipt').waitFor()
    const texts = await steps.allTextContents()
    const names = texts.map((text) => /received|receipt|sent|applied/.exec(text)?.[0])
    expect(names.toSorted()).toEqual(['applied', 'receipt', 'received', 'sent'])
    expect(texts[0]).toMatch(/^●\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}received/)
    expect(texts.slice(1).filter((text) => !/\+[\d,]+ ms$/.test(text))).toEqual([])
    expect(visit.problems).toEqual([])
  })

  it('that is dead says first what to do about its reason, and its delivery is copied as a command', async () => {
    const { id } = await pay(console, `evt_advised_${randomUUID()}`, 1)
    await using visit = await console.open()
    const { page } = visit
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await visit.signIn(`/events/${id}`)
    await page.getByText('find out which amount is right').waitFor()
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByText('✓ copied').waitFor()
    const command = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(command).toMatch(/^echo \S+ \| base64 -d \| curl -i 'http:.*\/api\/webhooks\/acme'/)
    expect(command).toContain("-H 'stripe-signature: ")
    expect(visit.problems).toEqual([])
  })

  it('that is processed for too long is released with two clicks and a reason', async () => {
    const dueAt = new Date(Date.now() + 50_000)
    const record = sampleRecord({ eventId: 'evt_held', state: 'processing', claim: 'stuck', dueAt })
    await console.system.events.insertOne(record)
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn(`/events/${record._id}`)
    await visit.click(page.getByRole('button', { name: 'Release…' }))
    await page.getByRole('textbox', { name: 'Reason' }).fill('its process is gone')
    await visit.click(page.getByRole('button', { name: 'Release the event' }))
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const { items } = await console.system.operator().audit.list.query()
    expect(items[0]).toMatchObject({ by: 'alice', action: 'events.release', reason: 'its process is gone' })
    expect([visit.clicks(), visit.problems]).toEqual([2, []])
  })
})

describe('a session', () => {
  it('begins with a link, whose code leaves the address at once and works once', async () => {
    const { code } = await console.system.operator('bob').signIn.createCode.mutate({})
    await using visit = await console.open()
    const { page } = visit
    await page.goto(`${console.url}/sign-in#${code}`)
    await page.getByRole('button', { name: 'Sign out bob' }).waitFor()
    expect(page.url()).toBe(`${console.url}/`)
    expect([visit.clicks(), visit.problems]).toEqual([0, []])

    await using other = await console.open()
    await other.page.goto(`${console.url}/sign-in#${code}`)
    await other.page.getByRole('alert').getByText('sign_in_code_invalid').waitFor()
    await other.page.getByLabel('Operator token').waitFor()
  })

  it('of somebody else is replaced by a link only after a question, which changes nothing', async () => {
    const { code } = await console.system.operator('bob').signIn.createCode.mutate({})
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn('/events', 'alice')
    const jar = () => page.context().cookies(`${console.url}/operator/`)
    const before = await jar()
    await page.goto(`${console.url}/sign-in#${code}`)
    await page.getByText('This browser is signed in as alice. The link is for bob.').waitFor()
    expect(page.url()).toBe(`${console.url}/`)
    await visit.click(page.getByRole('button', { name: 'Stay signed in as alice' }))
    await page.getByRole('button', { name: 'Sign out alice' }).waitFor()
    expect(await jar()).toEqual(before)

    await page.goto('about:blank')
    await page.goto(`${console.url}/sign-in#${code}`)
    await visit.click(page.getByRole('button', { name: 'Sign in as bob' }))
    await page.getByRole('button', { name: 'Sign out bob' }).waitFor()
    expect(await jar()).not.toEqual(before)
    expect([visit.clicks(), visit.problems]).toEqual([2, []])
  })

  it('of the same operator is replaced by a link without a question', async () => {
    const { code } = await console.system.operator('alice').signIn.createCode.mutate({})
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn('/events', 'alice')
    await page.goto(`${console.url}/sign-in#${code}`)
    await page.getByRole('button', { name: 'Sign out alice' }).waitFor()
    expect(visit.problems).toEqual([])
  })

  it('ends at the gateway when its operator signs out', async () => {
    const { code } = await console.system.operator().signIn.createCode.mutate({})
    await using visit = await console.open()
    const { page } = visit
    await page.goto(`${console.url}/sign-in#${code}`)
    await page.getByRole('button', { name: 'Sign out alice' }).waitFor()
    const [cookie] = await page.context().cookies(`${console.url}/operator/`)
    await visit.click(page.getByRole('button', { name: 'Sign out alice' }))
    await page.getByLabel('Operator token').waitFor()
    const headers = pageHeaders(`${cookie?.name}=${cookie?.value}`)
    expect((await console.system.call('/operator/me', { headers })).status).toBe(401)
    expect(await page.context().cookies(`${console.url}/operator/`)).toEqual([])
    expect([visit.clicks(), visit.problems]).toEqual([1, []])
  })

  it.each([
    ['cannot be asked to end it', (route: Route) => route.abort()],
    ['does not answer', async () => undefined],
  ])('says that it may last if the gateway %s, and the page forgets it all the same', async (_, handle) => {
    const eventId = `evt_of_alice_${randomUUID()}`
    await pay(console, eventId)
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn('/events')
    await row(visit, eventId).waitFor()
    await page.route('**/operator/signIn.end', handle)
    await page.evaluate(IMPATIENT)
    await page.getByRole('button', { name: 'Sign out alice' }).click()
    const notice = page.getByRole('alert').getByText('has not confirmed the end of your session')
    await notice.waitFor()
    await page.getByLabel('Operator token').fill('not-a-token')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('alert').getByText('unauthenticated').waitFor()
    await notice.waitFor()
    await page.route('**/operator/events.feed*', (route) => route.abort())
    await page.getByLabel('Operator token').fill(console.system.tokens.operators.bob)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('alert').getByText('The gateway does not answer.').waitFor()
    expect(await row(visit, eventId).count()).toBe(0)
  })

  it('needs a token that the gateway knows, and lasts through a reload, without a script that can read it', async () => {
    await using visit = await console.open()
    const { page } = visit
    await page.goto(`${console.url}/events?state=done`)
    await page.getByLabel('Operator token').fill('not-a-token')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('unauthenticated').waitFor()
    await visit.signIn('/events?state=done')
    expect(new URL(page.url()).search).toBe('?state=done')
    await page.reload()
    await page.getByRole('button', { name: 'Sign out alice' }).waitFor()
    const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')
    for (const secret of [console.system.tokens.operators.alice, 'ohs_']) expect(stored).not.toContain(secret)
    const [cookie] = await page.context().cookies(`${console.url}/operator/`)
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/operator/', expires: -1 })
    expect(visit.problems).toEqual([])
  })

  it('is that of every tab: one that was opened for another operator shows who has signed in since', async () => {
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn('/providers')
    const other = await page.context().newPage()
    await other.goto(`${console.url}/receipts`)
    await other.getByRole('button', { name: 'Sign out alice' }).click()
    await other.getByLabel('Operator token').fill(console.system.tokens.operators.bob)
    await other.getByRole('button', { name: 'Sign in', exact: true }).click()
    await other.getByRole('button', { name: 'Sign out bob' }).waitFor()
    await visit.go('/audit')
    await page.getByRole('button', { name: 'Sign out bob' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/audit')
    expect(visit.problems).toEqual([])
  })

  it('runs nothing, shows nothing and asks for nothing that the gateway did not serve', async () => {
    await using visit = await console.open()
    const { page } = visit
    await visit.signIn('/events')
    await page.evaluate(`globalThis.refused = []
      addEventListener('securitypolicyviolation', ({ effectiveDirective }) => refused.push(effectiveDirective))`)
    const tried = await page.evaluate(`(async () => {
      const script = document.createElement('script')
      script.append('globalThis.hasRun = true')
      const picture = document.createElement('img')
      picture.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='
      const text = document.createElement('p')
      text.setAttribute('style', 'color: red')
      document.body.append(script, picture, text)
      let markup = 'allowed'
      try { text.innerHTML = '<b>' } catch (error) { markup = error.name }
      const request = await fetch('http://192.0.2.1/').then(() => 'allowed', (error) => error.name)
      return { hasRun: globalThis.hasRun === true, colour: text.style.color, markup, request }
    })()`)
    expect(tried).toEqual({ hasRun: false, colour: '', markup: 'TypeError', request: 'TypeError' })
    const directives = ['connect-src', 'img-src', 'require-trusted-types-for', 'style-src-attr']
    const isRefused = async () => [...new Set((await page.evaluate('refused')) as string[])].toSorted()
    await expect.poll(isRefused).toEqual(directives)
  })
})
