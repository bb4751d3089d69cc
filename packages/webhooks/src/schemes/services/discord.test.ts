import { describe, expect, it } from 'vitest'
import type { VerifiedDelivery } from '../../delivery.ts'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'

const publicKey = '03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8'
const provider = makeProvider({ settings: { scheme: 'discord' }, secrets: [{ value: publicKey }] })

function verified(body: object): VerifiedDelivery {
  const delivery = { rawBody: Buffer.from(JSON.stringify(body)), rawHeaders: [], query: '', secretId: 's1' }
  return delivery as Partial<VerifiedDelivery> as VerifiedDelivery
}

describe('discord', () => {
  const event = {
    version: 1,
    application_id: '1234560123453231555',
    type: 1,
    event: { type: 'ENTITLEMENT_CREATE', timestamp: '2024-10-18T18:41:21.109604', data: { id: '1234505980407808808' } },
  }

  it('does not mistake an event for a ping, even of type 1', () => {
    expect(provider.answerHandshake(verified(event))).toBeNull()
  })

  it('reads an interaction under its own id', () => {
    const read = onlyEvent(provider.readEvents(verified({ id: '77', type: 2, data: { id: '88', name: 'pay' } })))
    expect(read).toMatchObject({ id: '77', type: 'interaction.2', objectId: '88' })
  })

  it.each(['', 'zz'.repeat(32), publicKey.slice(2), `${publicKey}00`])('refuses %j as a public key', (value) => {
    expect(() => makeProvider({ settings: { scheme: 'discord' }, secrets: [{ value }] })).toThrow(
      'is not a public key of 64 hexadecimal digits',
    )
  })
})
