import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSecuredMongod } from '@oncehook/kernel/testing/secured-mongod'
import { expect, it } from 'vitest'
import { runToEnd } from '../support/stack/service-under-test.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { fulfilmentSettings, gatewaySettings } from '../support/stack/stack-settings.ts'
import { until } from '../support/until.ts'

const SERVICES = { gateway: 'gateway-user', fulfilment: 'fulfilment-user' } as const

/** A stack whose services sign in as separate users, with URLs in files. */
async function startSignedIn(resources: AsyncDisposableStack) {
  const server = resources.use(await startSecuredMongod(process.env))
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-uris-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const fileOf = (service: keyof typeof SERVICES): string => join(folder, service)
  const uriOf = (service: keyof typeof SERVICES) => ({ MONGODB_URI: '', MONGODB_URI_FILE: fileOf(service) })

  const makeUsers = async (password: string): Promise<void> => {
    for (const name of Object.values(SERVICES)) {
      await server.createUser('admin', { name, password, roles: ['readWriteAnyDatabase'] })
    }
  }
  const writeFiles = (password: string): void => {
    for (const service of ['gateway', 'fulfilment'] as const) {
      writeFileSync(fileOf(service), server.uriOf('admin', { name: SERVICES[service], password }).reveal())
    }
  }
  const dropUsers = async (): Promise<void> => {
    for (const name of Object.values(SERVICES)) await server.db('admin').command({ dropUser: name })
  }
  await makeUsers('first-canary-of-a-password')
  writeFiles('first-canary-of-a-password')
  const stack = resources.use(
    await startStack({ mongoUri: server.uri.reveal(), gateway: uriOf('gateway'), fulfilment: uriOf('fulfilment') }),
  )
  const settingsOf = (service: keyof typeof SERVICES) => ({
    ...(service === 'gateway' ? gatewaySettings : fulfilmentSettings)(stack.place),
    ...uriOf(service),
    ...{ GATEWAY_PORT: '0', ADMIN_PORT: '0', FULFILMENT_PORT: '0' },
  })
  return { stack, makeUsers, writeFiles, dropUsers, settingsOf }
}

/** Makes an order and delivers its payment, retries each until it is accepted, and waits until the order is paid. */
async function untilPaid(stack: Stack): Promise<void> {
  const order = await until(
    () => stack.orders.create().catch(() => null),
    (made) => made !== null,
  )
  if (order === null) throw new Error('There is no order')
  const acme = stack.provider('acme')
  const message = acme.write(paymentOf(order))
  await until(
    () => acme.deliver(message),
    ({ status }) => status === 200,
  )
  await stack.orders.untilStatus(order.id, 'paid')
}

it('FP-46: a database that refuses the credentials of the services ends both after ten seconds with 75, and again at each start, until they are started with valid ones; a stop keeps its own exit code', async () => {
  await using resources = new AsyncDisposableStack()
  const { stack, makeUsers, writeFiles, dropUsers, settingsOf } = await startSignedIn(resources)
  const services = [stack.gateway, stack.fulfilment]
  await untilPaid(stack)

  await dropUsers()
  const ended = services.map((service) => service.untilEnded())
  const starts = (['gateway', 'fulfilment'] as const).map((name) => runToEnd(name, settingsOf(name)))
  const ofWorkers = runToEnd('gateway', { ...settingsOf('gateway'), WORKERS: '2' })
  expect(await Promise.all(ended)).toEqual([
    { code: 75, signal: null },
    { code: 75, signal: null },
  ])
  for (const service of services) {
    expect(service.lines.at(-1)).toMatchObject({ level: 'fatal', msg: 'mongodb.refused', error: { code: 13 } })
    expect(service.countOf('mongodb.refused')).toBe(1)
  }
  for (const { code, stdout, stderr } of await Promise.all(starts)) {
    expect([code, stderr]).toEqual([75, ''])
    expect(stdout.trim().split('\n').at(-1)).toMatch(/"level":"fatal".*"code":18.*"msg":"mongodb\.refused"/)
  }

  expect((await ofWorkers).code, 'of the process that replaces workers').toBe(75)

  await makeUsers('second-canary-of-a-password')
  writeFiles('second-canary-of-a-password')
  await Promise.all(services.map((service) => service.restart()))
  await untilPaid(stack)
  await stack.untilSettled()
  for (const service of services) expect(service.written).not.toContain('canary-of-a-password')

  const payment = paymentOf(await stack.orders.create())
  await dropUsers()
  expect((await stack.deliver(payment)).status).toBe(500)
  for (const { code } of await Promise.all(services.map((service) => service.kill('SIGTERM'))))
    expect(code).not.toBe(75)
})
