import { unavailable } from '@oncehook/kernel/http/error-codes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { expect, it, onTestFinished, vi } from 'vitest'
import { logCalled } from './operator-api.ts'

it('strangers write few lines of an error while the issuer is away, and operators all of theirs', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { logger, lines } = memoryLogger()
  const call = (operator: string | undefined) => {
    logCalled(logger, { procedure: 'overview', status: 503, operator }, unavailable())
  }
  for (let times = 0; times < 250; times += 1) call(undefined)
  expect(lines).toHaveLength(100)
  for (let times = 0; times < 150; times += 1) call('alice')
  expect(lines).toHaveLength(250)
  vi.runAllTimers()
  const counted = { msg: 'operator.called', level: 'error', procedure: 'overview', status: 503, times: 150 }
  expect(lines.slice(250)).toMatchObject([counted])
})
