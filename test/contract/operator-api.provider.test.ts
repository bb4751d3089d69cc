import { PROVIDERS, startOperatedSystem, TOKENS } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeysFile } from '@oncehook/kernel/testing/test-encryption'
import { afterAll, it } from 'vitest'
import { forwardRequests } from './forward-requests.ts'
import { HANDLER } from './operator-exchanges.ts'
import { eventStates, handlerStates, type Operated, plainStates } from './operator-states.ts'
import { contractsOf } from './pact-files.ts'
import { type StateHandler, verifyContract } from './verify-contract.ts'

const READER_TOKEN = 'the-token-of-an-operator-who-may-only-read'
const OPERATOR_TOKENS = JSON.stringify({
  ...TOKENS.operators,
  reader: { tokens: [{ value: READER_TOKEN }], roles: ['read'] },
})

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

it.each(contractsOf('operator-api'))('the gateway answers operators as $name says', async (contract) => {
  const { alice } = TOKENS.operators
  let next: string = alice
  let serving = plain
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
  await using forwarder = await forwardRequests(() => serving.system.gateway.adminUrl)
  await verifyContract({
    contract,
    url: forwarder.url,
    filter: ({ headers }) => {
      headers.authorization = `Bearer ${next}`
      next = alice
    },
    states: {
      ...at(plain, { ...plainStates(plain), ...eventStates(plain) }),
      ...at(whole, handlerStates(whole)),
      async 'the operator has another token'() {
        serving = plain
        next = 'the-token-of-somebody-else-who-is-no-operator'
      },
      async 'the operator may only read'() {
        serving = plain
        next = READER_TOKEN
      },
    },
  })
})
