import { expect, it } from 'vitest'
import { createRateLimit } from '../../http/rate-limit.ts'
import { limitAudit, type NewAuditEntry } from './audit.ts'

const alice = { name: 'alice', identity: null }
const entry = { by: 'alice', action: 'events.close', reason: 'a test', details: {} } as const

function startLimited() {
  let time = 1_000_000_000
  const stored: NewAuditEntry[] = []
  const unused = () => Promise.reject(new Error('An entry does not need it'))
  const audit = {
    ...{ recordAll: unused, has: unused, list: unused, strays: unused, verify: unused },
    record: async (added: NewAuditEntry) => void stored.push(added),
  }
  const clock = { now: () => time }
  const open = limitAudit(audit, createRateLimit({ name: 'audited', limit: 2, windowSeconds: 60, clock }))
  return { open, stored, nextWindow: () => (time += 60_000) }
}

it('an operator writes so many entries in a minute, and others are not concerned', async () => {
  const { open, stored, nextWindow } = startLimited()
  for (let calls = 0; calls < 2; calls += 1) await open(alice).record(entry)
  await expect(open(alice).record(entry)).rejects.toMatchObject({
    ...{ code: 'rate_limited', status: 429, headers: { 'Retry-After': expect.stringMatching(/^\d+$/) } },
  })
  await open({ name: 'bob', identity: null }).record(entry)
  expect(stored).toHaveLength(3)
  nextWindow()
  await open(alice).record(entry)
  expect(stored).toHaveLength(4)
})

it('a call that has written its first entry can write how it ended', async () => {
  const { open, stored } = startLimited()
  for (let calls = 0; calls < 2; calls += 1) {
    const audit = open(alice)
    for (let entries = 0; entries < 3; entries += 1) await audit.record(entry)
  }
  const refused = open(alice)
  for (let tries = 0; tries < 2; tries += 1) await expect(refused.record(entry)).rejects.toThrow()
  expect(stored).toHaveLength(6)
})

it('the end of a session and of a rotation is written in any case', async () => {
  const { open, stored } = startLimited()
  for (const action of ['sign_in.ended', 'encryption.rotated'] as const) {
    for (let calls = 0; calls < 3; calls += 1) await open(alice).record({ ...entry, action })
  }
  expect(stored).toHaveLength(6)
})

it('entries show what the issuer claims about the operator', async () => {
  const { open, stored } = startLimited()
  const identity = { issuer: 'https://login.example', name: 'Alice' }
  await open({ name: 'oidc:alice', identity }).record({ ...entry, details: { id: 'e' } })
  expect(stored).toEqual([{ ...entry, details: { id: 'e', operator: identity } }])
})
