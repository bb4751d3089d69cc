import { startSignInIssuer } from '@oncehook/gateway/testing/issuer/sign-in-issuer'
import { PROVIDERS, pageHeaders, startOperatedSystem, TOKENS } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeysFile } from '@oncehook/kernel/testing/test-encryption'
import { afterAll, it } from 'vitest'
import { HANDLER, SIGN_IN } from './operator-exchanges.ts'
import { eventStates, handlerStates, type Operated, openSession, plainStates } from './operator-states.ts'
import { contractsOf } from './pact-files.ts'
import { type StateHandler, verifyContract } from './verify-contract.ts'

const READER_TOKEN = 'the-token-of-an-operator-who-may-only-read'
const OPERATOR_TOKENS = JSON.stringify({
  ...TOKENS.operators,
  reader: { tokens: [{ value: READER_TOKEN }], roles: ['read'] },
})

const STRANGER_TOKEN = 'the-token-of-somebody-else-who-is-no-operator'
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const keys = stack.use(await createTestKeysFile('first'))
const secret = `whsec_${Buffer.from('the secret of this test, 32 byte').toString('base64')}`
// Nobody stores an event of this type, so it is never called.
const handler = {
  https: 'http://127.0.0.1:1/',
  secrets: [{ id: '1', value: secret }],
  events: [{ types: ['of.nobody'] }],
}
const HANDLERS = JSON.stringify({ [HANDLER]: handler })
const WEEK_MS = 7 * 86_400_000
const [newer, older] = PROVIDERS.acme.secrets
const ending = { ...older, notAfter: new Date(Date.now() + WEEK_MS).toISOString() }
const ENDING = JSON.stringify({ ...PROVIDERS, acme: { ...PROVIDERS.acme, secrets: [newer, ending] } })

async function start(settings: Record<string, string>, encryptionKeysFile?: string): Promise<Operated> {
  const database = stack.use(await testDatabase(process.env))
  const all = { settings: { OPERATOR_TOKENS, ...settings } }
  const more = encryptionKeysFile === undefined ? {} : { encryptionKeysFile }
  return { system: stack.use(await startOperatedSystem(database, { ...all, ...more })), db: database.db }
}

const plain = await start({})
const whole = await start(
  { HANDLERS, ENCRYPTION_KEYS_FILE: keys.path, PROVIDERS: ENDING, PROVIDERS_FILE: '' },
  keys.path,
)

const issuer = stack.use(await startSignInIssuer({ people: { carol: ['hook-operators'] } }))
const issued = await start(issuer.settings)
const { adminUrl } = issued.system.gateway
issuer.register(adminUrl)

async function post(url: string, body: object, headers: Record<string, string>): Promise<never> {
  const sent = { 'content-type': 'application/json', ...headers }
  const answer = await fetch(url, { method: 'POST', headers: sent, body: JSON.stringify(body) })
  return (await answer.json()) as never
}

it.each(contractsOf('operator-api'))('the gateway answers operators as $name says', async (contract) => {
  const { alice } = TOKENS.operators
  let next: string = alice
  let serving = plain
  // The body of the next sign-in, because codes work once.
  let signIn: object | null = null
  // What is special about the browser of the next request.
  let browser: 'has two cookies' | 'uses TLS' | null = null
  const at = (operated: Operated, states: Readonly<Record<string, StateHandler>>): Record<string, StateHandler> =>
    Object.fromEntries(
      Object.entries(states).map(([name, enter]) => [
        name,
        async (parameters) => {
          serving = operated
          await enter(parameters)
        },
      ]),
    )
  const makeCode = async (): Promise<string> => {
    serving = plain
    const url = `${plain.system.gateway.adminUrl}/operator/signIn.createCode`
    const made: { result: { data: { code: string } } } = await post(url, {}, { authorization: `Bearer ${alice}` })
    return made.result.data.code
  }
  await verifyContract({
    contract,
    url: () => serving.system.gateway.adminUrl,
    filter: async (request) => {
      const { headers } = request
      const token = next
      const is = browser
      next = alice
      browser = null
      const origin = serving.system.gateway.adminUrl
      if (request.path.startsWith(SIGN_IN))
        headers.origin = is === 'uses TLS' ? origin.replace('http:', 'https:') : origin
      else if (headers.cookie === undefined) headers.authorization = `Bearer ${token}`
      else {
        const hasEnded = token === STRANGER_TOKEN
        const own = await openSession(serving, hasEnded ? alice : token)
        if (hasEnded) await post(`${origin}/operator/signIn.end`, {}, pageHeaders(own))
        const cookie = is === 'has two cookies' ? `${own}; ${own.split('=', 1)[0]}=of-another-server` : own
        Object.assign(headers, headers['oncehook-session'] === '*' ? { cookie } : pageHeaders(own))
      }
      if (signIn === null) return
      request.body = Buffer.from(JSON.stringify(signIn))
      headers['content-length'] = String(Buffer.byteLength(JSON.stringify(signIn)))
      signIn = null
    },
    states: {
      ...at(plain, { ...plainStates(plain), ...eventStates(plain) }),
      ...at(whole, handlerStates(whole)),
      async 'a link was made that signs in'() {
        signIn = { code: await makeCode() }
      },
      async 'a link was made that can be checked'() {
        signIn = { code: await makeCode(), check: true }
      },
      async 'the operator has a token'() {
        serving = plain
        signIn = { token: alice }
      },
      async 'the page is reached over TLS'() {
        serving = plain
        signIn = { token: alice }
        browser = 'uses TLS'
      },
      async 'the browser has two cookies of a session'() {
        serving = plain
        browser = 'has two cookies'
      },
      async 'operators sign in at an issuer'() {
        serving = issued
      },
      async 'an operator comes back from the issuer'() {
        serving = issued
        const begun: { url: string; kept: object } = await post(
          `${adminUrl}/sign-in/issuer/begin`,
          {},
          { origin: adminUrl },
        )
        signIn = { answer: await issuer.answerOf(begun.url, 'carol'), kept: begun.kept }
      },
      async 'the operator has another token'() {
        serving = plain
        next = STRANGER_TOKEN
      },
      async 'the operator may only read'() {
        serving = plain
        next = READER_TOKEN
      },
    },
  })
})
