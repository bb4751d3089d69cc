import { unavailable } from '@oncehook/kernel/http/error-codes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Role } from '../http/authentication.ts'
import { logCalled } from './operator-api.ts'

it.each([
  ['strangers, while the issuer is away,', undefined],
  ['people without a role', 'oidc:mallory'],
])('%s write few lines, and operators all of theirs', (_, stranger) => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { logger, lines } = memoryLogger()
  const call = (operator: string | undefined, roles: readonly Role[]) => {
    const line = { procedure: 'overview', status: 503, operator }
    logCalled(logger, line, { roles: new Set(roles), error: unavailable() })
  }
  for (let times = 0; times < 250; times += 1) call(stranger, [])
  expect(lines).toHaveLength(100)
  for (let times = 0; times < 150; times += 1) call('alice', ['read'])
  expect(lines).toHaveLength(250)
  vi.runAllTimers()
  const counted = { msg: 'operator.called', level: 'error', procedure: 'overview', status: 503, times: 150 }
  expect(lines.slice(250)).toMatchObject([counted])
})
