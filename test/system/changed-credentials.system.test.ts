import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startSecuredMongod } from '@oncehook/kernel/testing/secured-mongod'
import { describe, expect, it } from 'vitest'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const SERVICES = { gateway: 'gateway-user', fulfilment: 'fulfilment-user' } as const

/** A stack whose services sign in as separate users, with URLs in files. */
async function startSignedIn(resources: AsyncDisposableStack) {
  const server = resources.use(await startSecuredMongod(process.env))
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-uris-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const fileOf = (service: keyof typeof SERVICES): string => join(folder, service)
  const settingsOf = (service: keyof typeof SERVICES) => ({ MONGODB_URI: '', MONGODB_URI_FILE: fileOf(service) })

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
    await startStack({
      mongoUri: server.uri.reveal(),
      gateway: settingsOf('gateway'),
      fulfilment: settingsOf('fulfilment'),
    }),
  )
  return { stack, makeUsers, writeFiles, dropUsers }
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

describe('database users that are created again', () => {
  it('are signed in again by both services, with the same password and with a new one, without a restart', async () => {
    await using resources = new AsyncDisposableStack()
    const { stack, makeUsers, writeFiles, dropUsers } = await startSignedIn(resources)
    await untilPaid(stack)

    const acme = stack.provider('acme')
    const message = acme.write(paymentOf(await stack.orders.create()))
    await dropUsers()
    for (let deliveries = 0; deliveries < 20; deliveries += 1) expect((await acme.deliver(message)).status).toBe(500)
    await makeUsers('first-canary-of-a-password')
    await untilPaid(stack)

    await dropUsers()
    await makeUsers('second-canary-of-a-password')
    writeFiles('second-canary-of-a-password')
    await untilPaid(stack)
    await stack.untilSettled()

    // One line per change, whatever the number of pools; one for both if the second comes before the first is over.
    for (const service of [stack.gateway, stack.fulfilment]) {
      expect(service.countOf('mongodb.renewing')).toBeGreaterThanOrEqual(1)
      expect(service.countOf('mongodb.renewing')).toBeLessThanOrEqual(2)
      expect(service.countOf('mongodb.renewed')).toBe(service.countOf('mongodb.renewing'))
      expect(service.written).not.toContain('canary-of-a-password')
    }
  })
})
