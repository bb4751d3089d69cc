import { once } from 'node:events'
import { connect } from 'node:net'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { expect, it } from 'vitest'
import { startFulfilment } from './testing/start-fulfilment.ts'

it('MAX_CONNECTIONS: beyond it the connection that has been idle longest is closed', async () => {
  await using database = await testDatabase(process.env)
  await using fulfilment = await startFulfilment({ uri: database.uri, database: database.name, maxConnections: 2 })
  await using resources = new AsyncDisposableStack()
  const open = async () => {
    const socket = resources.adopt(
      connect(Number(new URL(fulfilment.url).port), '127.0.0.1'),
      (one) => void one.destroy(),
    )
    await once(socket, 'connect')
    return socket
  }
  const [first, second] = [await open(), await open()]
  const closed = once(first, 'close')
  const third = await open()
  await closed
  expect([second.destroyed, third.destroyed]).toEqual([false, false])
})
