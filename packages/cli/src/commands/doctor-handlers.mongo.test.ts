import { randomBytes } from 'node:crypto'
import { startHandlerServer } from '@oncehook/gateway/testing/handlers/handler-server'
import { openHandlersFile } from '@oncehook/gateway/testing/handlers/handlers-file'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { paymentEvent, startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { Finding } from '../doctor/finding.ts'
import { makeDataFolder, runCommand } from '../testing/run-command.ts'

const DAY_MS = 86_400_000

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const server = stack.use(await startHandlerServer())
const { path: HANDLERS_FILE, write } = stack.use(await openHandlersFile())

/** A handler with a secret that ends at this time. */
function handler(notAfter?: number): object {
  const value = `whsec_${randomBytes(32).toString('base64')}`
  const ends = notAfter === undefined ? {} : { notAfter: new Date(notAfter).toISOString() }
  return { https: `${server.url}/hook`, secrets: [{ id: '1', value, ...ends }], events: [{ types: ['payment.*'] }] }
}

const BILLING = { billing: handler() }
await write(BILLING)
// The waits grow until tasks are nearly always between two attempts, where they count as pending.
const settings = { HANDLERS_FILE, RETRY_CAP_MS: '5000' }
const system = stack.use(await startOperatedSystem(database, { settings }))
const { url, adminUrl } = system.gateway
const { alice: operatorToken } = system.tokens.operators
const folder = stack.use(await makeDataFolder(url, { adminUrl, apiToken: system.tokens.api, operatorToken }))

async function examine() {
  const { exitCode, stdout } = await runCommand(['doctor', '--json'], folder)
  const { findings } = JSON.parse(stdout) as { findings: Finding[] }
  const of = (check: string) => findings.filter((finding) => finding.check === check)
  return { exitCode, handlers: of('handlers'), stdout }
}

const handlersFound = async () => (await examine()).handlers
const messages = async () => (await handlersFound()).map(({ message }) => message)

afterEach(async () => {
  server.answer = () => ({ status: 204 })
  await write(BILLING)
  await expect.poll(messages).toEqual(['No problem of billing (0 pending)'])
})

describe('doctor, about handlers', () => {
  it('names them if all is well', async () => {
    const { exitCode, handlers } = await examine()
    expect(handlers).toEqual([{ check: 'handlers', level: 'ok', message: 'No problem of billing (0 pending)' }])
    expect(exitCode).toBe(0)
  })

  it('reports dead tasks, and tasks of a handler that was removed, with what to do', async () => {
    const { insertedIds } = await system.events.insertMany([
      sampleRecord({ handler: 'billing', state: 'dead', reason: 'handler_refused' }),
      sampleRecord({ handler: 'old-crm', state: 'dead', reason: 'handler_refused' }),
      sampleRecord({ handler: 'old-crm', state: 'pending' }),
    ])
    const { exitCode, handlers } = await examine()
    expect(handlers).toEqual([
      {
        ...{ check: 'handlers', level: 'warning', message: '1 dead tasks of billing' },
        todo: 'Run oncehook events list --handler billing --state dead; replay them when the handler takes them',
      },
      {
        ...{ check: 'handlers', level: 'warning' },
        message: 'old-crm is not configured, and has 1 pending and 1 dead tasks',
        todo: 'Add it to the setting again, or run oncehook handlers discard old-crm',
      },
    ])
    expect(exitCode).toBe(0)
    await system.events.deleteMany({ _id: { $in: Object.values(insertedIds) } })
  })

  it('fails if a handler does not answer', async () => {
    server.answer = () => ({ status: 503 })
    for (const id of ['evt_1', 'evt_2', 'evt_3']) {
      expect(await system.deliver(paymentEvent(id, { orderId: await system.order() }))).toBe(200)
    }
    const { host } = new URL(server.url)
    const message = expect.stringContaining(`billing at ${host} does not answer the gateway`)
    await expect.poll(examine).toMatchObject({ exitCode: 1, handlers: [{ level: 'failure', message }] })
  })

  it('warns if a handler answers, but refuses everything', async () => {
    server.answer = () => ({ status: 401 })
    for (const id of ['evt_4', 'evt_5']) {
      expect(await system.deliver(paymentEvent(id, { orderId: await system.order() }))).toBe(200)
    }
    const refused = 'pending tasks of billing have failed three times or more. Last error: The handler answered 401'
    const todo = expect.stringContaining('docs/how-to/handler-problem.md')
    await expect.poll(examine).toMatchObject({
      ...{ exitCode: 0, handlers: [{ level: 'warning', message: `2 of 2 ${refused} (handler_failed)`, todo }] },
    })
  })

  it('fails if no call can be signed, and warns before', async () => {
    const soon = Date.now() + 2 * DAY_MS
    await write({ gone: handler(Date.now() - DAY_MS), ends: handler(soon), late: handler(soon + 30 * DAY_MS) })
    await expect.poll(async () => (await handlersFound()).length).toBe(2)
    const { exitCode, handlers, stdout } = await examine()
    expect(handlers).toMatchObject([
      { level: 'failure', message: 'Every secret of gone has expired: no call can be signed' },
      {
        level: 'warning',
        message: expect.stringMatching(/^The last secret of ends expires 20.+: then no call can be/),
      },
    ])
    expect(exitCode).toBe(1)
    expect(stdout).not.toContain('whsec_')
  })
})
