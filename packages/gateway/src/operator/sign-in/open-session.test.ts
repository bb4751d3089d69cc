import { Secret } from '@oncehook/kernel/secrets/secret'
import { expect, it } from 'vitest'
import { openSession } from './open-session.ts'

const credential = new Secret('the-token-of-alice')
const operator = {
  ...{ name: 'alice', roles: new Set(['read'] as const), identity: null, endsAt: 1_000, credential, session: null },
}
const issued = { text: new Secret('ohs_of-alice'), endsAt: 1_000, id: 'id' }

it('a session is opened after its entry in the audit log, and not without', async () => {
  const steps: unknown[] = []
  const signIns = {
    createSession: async (...given: readonly unknown[]) => {
      steps.push(given)
      return issued
    },
  }
  const unused = () => Promise.reject(new Error('A sign-in does not need it'))
  const rest = { recordAll: unused, has: unused, list: unused, verify: unused }
  const record = async ({ by, action }: { readonly by: string; readonly action: string }) => {
    steps.push([by, action])
  }
  const opened = await openSession({ signIns, audit: { ...rest, record } }, operator, credential)
  expect(opened).toEqual({
    ...{ token: 'ohs_of-alice', operator: 'alice', roles: ['read'], expiresAt: '1970-01-01T00:00:01.000Z' },
  })
  expect(steps).toEqual([
    ['alice', 'sign_in.opened'],
    [credential, 1_000],
  ])

  steps.length = 0
  const full = { ...rest, record: () => Promise.reject(new Error('the audit log is away')) }
  await expect(openSession({ signIns, audit: full }, operator, credential)).rejects.toThrow('is away')
  expect(steps).toEqual([])
})
