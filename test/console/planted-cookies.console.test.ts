import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ConsoleUnderTest, startConsole, type Visit } from '../support/console/open-console.ts'

let console: ConsoleUnderTest
beforeAll(async () => {
  console = await startConsole()
})
afterAll(() => console[Symbol.asyncDispose]())

/** Sets a cookie as a server on another port of the host can. */
async function plant({ page }: Visit, value: string): Promise<void> {
  const { hostname, port } = new URL(console.url)
  await page
    .context()
    .addCookies([{ name: `oncehook-session-${port}`, value, domain: hostname, path: '/operator/me', httpOnly: true }])
}

async function signInAsAlice({ page }: Visit): Promise<void> {
  await page.getByLabel('Operator token').fill(console.system.tokens.operators.alice)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out alice' }).waitFor()
}

/** Whether the page still works, also after it is loaded again. */
async function isSignedIn({ page }: Visit): Promise<void> {
  await page.reload()
  await page.getByRole('button', { name: 'Sign out alice' }).waitFor()
  await page.getByRole('link', { name: 'Providers' }).click()
  await page.getByRole('button', { name: 'Rotate a secret…' }).first().waitFor()
}

it('a planted cookie of no session lets its operator sign in, and disturbs no session', async () => {
  await using visit = await console.open()
  await plant(visit, 'garbage')
  await visit.page.goto(`${console.url}/providers`)
  await signInAsAlice(visit)
  await isSignedIn(visit)
  expect(visit.problems).toEqual([])
})

it('a cookie planted beside that of a session is named, and a sign-in removes it', async () => {
  await using visit = await console.open()
  await visit.signIn('/providers')
  await plant(visit, 'garbage')
  await visit.page.reload()
  await visit.page.getByRole('alert').getByText('session_ambiguous').waitFor()
  await signInAsAlice(visit)
  await isSignedIn(visit)
  expect(visit.problems).toEqual([])
})

it("a planted cookie of a stranger's session is named, and a sign-in removes it", async () => {
  await using stranger = await console.open()
  await stranger.signIn('/', 'bob')
  const [cookie] = await stranger.page.context().cookies(`${console.url}/operator/`)
  await using visit = await console.openNew()
  await plant(visit, String(cookie?.value))
  await visit.page.goto(`${console.url}/providers`)
  await visit.page.getByRole('alert').getByText('session_ambiguous').waitFor()
  await signInAsAlice(visit)
  await isSignedIn(visit)
  expect(visit.problems).toEqual([])
})
