import type { Db } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { SettingsError } from '../settings/settings.ts'
import { checkDeployment } from './mongo-connection.ts'

/** A database whose node gives this reply. A real node is in this state for milliseconds only. */
function answering(hello: object, directConnection: boolean): Db {
  return { command: async () => hello, client: { options: { directConnection } } } as unknown as Db
}

describe('a node that has just stepped down for another', () => {
  const hello = { setName: 'rs', isWritablePrimary: false, primary: 'other:27017' }

  it('is queried again if the driver finds the primary itself', async () => {
    const asked = checkDeployment(answering(hello, false))
    await expect(asked).rejects.toThrow('not a primary')
    await expect(asked).rejects.not.toBeInstanceOf(SettingsError)
  })

  it('ends the start if the connection requires it', async () => {
    await expect(checkDeployment(answering(hello, true))).rejects.toBeInstanceOf(SettingsError)
  })
})

it('refuses a mongos, which nobody has tried', async () => {
  const hello = { msg: 'isdbgrid', isWritablePrimary: true }
  await expect(checkDeployment(answering(hello, false))).rejects.toThrow('MONGODB_URI names a mongos')
})
