import { startSignInIssuer } from '@oncehook/gateway/testing/issuer/sign-in-issuer'
import type { Page } from 'playwright-core'
import { afterAll, expect, it } from 'vitest'
import { startConsole, type Visit } from '../support/console/open-console.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const issuer = stack.use(await startSignInIssuer({ people: { carol: ['hook-operators'], dave: ['hook-readers'] } }))
const console = stack.use(await startConsole(issuer.settings))
issuer.register(console.url)

const host = new URL(issuer.issuer).host
const button = (page: Page) => page.getByRole('button', { name: `Sign in with ${host}` })
/** The browser's storage, without scroll positions. */
const stored = (page: Page) =>
  page.evaluate(`JSON.stringify([
    ...[{ ...localStorage }, Object.keys(sessionStorage).filter((key) => !key.startsWith('tsr-scroll'))],
    document.cookie,
  ])`)
const finishing = (page: Page) =>
  page.waitForRequest((request) => new URL(request.url()).pathname === '/sign-in/issuer/finish')

/** Goes from an address of the page to the issuer. */
async function goToIssuer(page: Page, path: string): Promise<void> {
  await page.goto(`${console.url}${path}`)
  await button(page).click()
}

/** Signs in at the issuer as somebody, with a link there. */
async function signInAs(page: Page, name: string): Promise<void> {
  await button(page).click()
  await page.getByRole('link', { name: `I am ${name}` }).click()
  await isSignedIn(page, name)
}

/** Waits until the page shows who is signed in. */
async function isSignedIn(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: `Sign out oidc:${name}` }).waitFor()
}

/** The browser's complaints, without those about the navigation to the issuer, which the user chose. */
function problemsOf({ problems }: Visit): readonly string[] {
  return problems.filter((problem) => !problem.startsWith(`a request to ${issuer.issuer}/`))
}

it('an operator signs in at the issuer, comes back to the same address, and stays signed in after a reload', async () => {
  await using visit = await console.open()
  const { page } = visit
  await page.goto(`${console.url}/events?state=dead`)
  await visit.click(button(page))
  const returning = finishing(page)
  await page.getByRole('link', { name: 'I am carol' }).click()
  await isSignedIn(page, 'carol')
  expect(page.url()).toBe(`${console.url}/events?state=dead`)
  const { answer } = JSON.parse((await returning).postData() ?? '{}') as { answer: string }
  const code = new URLSearchParams(answer).get('code') ?? ''
  expect(code).not.toBe('')
  expect(await stored(page)).toBe('[{},[],""]')
  expect(visit.clicks()).toBe(1)

  await page.reload()
  await isSignedIn(page, 'carol')
  expect(page.url()).toBe(`${console.url}/events?state=dead`)
  expect(problemsOf(visit)).toEqual([])
})

it('a session that ends leads to the sign-in, and the address stays; signing out ends the session', async () => {
  await using visit = await console.open()
  const { page } = visit
  await page.goto(`${console.url}/providers`)
  await signInAs(page, 'dave')
  await console.system.events.db.collection('operator_sessions').deleteMany({})
  await visit.go('/audit')
  await button(page).click()
  await isSignedIn(page, 'dave')
  expect(page.url()).toBe(`${console.url}/audit`)
  await page.getByRole('button', { name: 'Sign out oidc:dave' }).click()
  await button(page).waitFor()
  expect(await console.system.events.db.collection('operator_sessions').countDocuments()).toBe(0)
  expect(problemsOf(visit)).toEqual([])
})

it('a refusal at the issuer is shown, and another attempt is offered', async () => {
  await using visit = await console.open()
  const { page } = visit
  await goToIssuer(page, '/providers')
  await page.getByRole('link', { name: 'Refuse' }).click()
  const alert = page.getByRole('alert')
  await alert.waitFor()
  expect(await alert.textContent()).toMatch(/did not sign you in.*sign_in_denied.*Request [0-9a-f-]{36}/)
  expect([page.url(), await stored(page)]).toEqual([`${console.url}/providers`, '[{},[],""]'])
  await signInAs(page, 'carol')
  expect(page.url()).toBe(`${console.url}/providers`)
})

it('a code that has ended and a state of another window open no session', async () => {
  await using visit = await console.open()
  const { page } = visit
  await page.route('**/sign-in/issuer/finish', async (route) => {
    const { answer } = JSON.parse(route.request().postData() ?? '{}') as { answer: string }
    await issuer.expireCode(new URLSearchParams(answer).get('code') ?? '')
    await route.continue()
  })
  await goToIssuer(page, '/events')
  await page.getByRole('link', { name: 'I am carol' }).click()
  const alert = page.getByRole('alert').filter({ hasText: 'sign_in_answer_invalid' })
  await alert.waitFor()
  const finished: string[] = []
  page.on('request', (request) => finished.push(new URL(request.url()).pathname))
  // The page asks again for what it shows, and not for a sign-in.
  await page.evaluate("dispatchEvent(new Event('visibilitychange'))")

  await page.unroute('**/sign-in/issuer/finish')
  await page.route(`${issuer.issuer}/**`, async (route) => {
    const back = `${console.url}/sign-in?code=stolen&state=${'a'.repeat(43)}`
    await route.fulfill({ status: 303, headers: { location: back } })
  })
  const returning = finishing(page)
  await button(page).click()
  await returning
  await alert.waitFor()
  expect(finished.filter((path) => path === '/sign-in/issuer/finish')).toHaveLength(1)
  expect([page.url(), problemsOf(visit)]).toEqual([`${console.url}/events`, []])
})

it('an answer that the window did not ask for goes nowhere', async () => {
  await using visit = await console.open()
  const { page } = visit
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto(`${console.url}/refused?code=stolen&error=stolen`)
  await button(page).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  await page.goto(`${console.url}/sign-in?code=stolen&state=stolen`)
  await page.getByRole('alert').getByText('sign_in_answer_invalid').waitFor()
  expect(page.url()).toBe(`${console.url}/`)
  expect(asked).not.toContain('/sign-in/issuer/finish')
})

it('after the back button another sign-in begins, and every window has the session that was opened last', async () => {
  await using visit = await console.open()
  const { page } = visit
  await goToIssuer(page, '/audit')
  await page.getByRole('link', { name: 'I am carol' }).waitFor()
  await page.goBack()
  await button(page).click()
  await page.getByRole('link', { name: 'I am dave' }).waitFor()
  const other = await page.context().newPage()
  await other.goto(`${console.url}/providers`)
  await signInAs(other, 'carol')
  await page.getByRole('link', { name: 'I am dave' }).click()
  await page.getByRole('button', { name: /^Sign out oidc:/ }).waitFor()
  expect([other.url(), page.url()]).toEqual([`${console.url}/providers`, `${console.url}/audit`])
  await other.getByRole('link', { name: 'Providers' }).click()
  await isSignedIn(other, 'dave')
  await other.getByRole('button', { name: 'Sign out oidc:dave' }).click()
  await button(other).waitFor()
  await page.reload()
  await button(page).waitFor()
  expect(problemsOf(visit)).toEqual([])
})

it('a browser that stores nothing shows the page, and says why it cannot sign in at the issuer', async () => {
  await using visit = await console.openNew()
  const { page } = visit
  // As Chromium does if its settings block the data of a site.
  await page.addInitScript(`for (const name of ['localStorage', 'sessionStorage']) {
    Object.defineProperty(window, name, { get() { throw new DOMException('Access is denied', 'SecurityError') } })
  }`)
  await goToIssuer(page, '/events')
  await page.getByRole('alert').getByText('stores nothing').waitFor()
  expect(page.url()).toBe(`${console.url}/events`)
  await visit.signIn('/events')
  await page.getByLabel('Theme').selectOption('dark')
  expect([await page.locator('html').getAttribute('data-theme'), problemsOf(visit)]).toEqual(['dark', []])
})
