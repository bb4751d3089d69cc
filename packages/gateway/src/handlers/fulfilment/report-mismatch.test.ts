import { unavailable } from '@oncehook/kernel/http/error-codes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { expect, it } from 'vitest'
import { contractMismatch } from '../../errors.ts'
import { reportMismatch } from './send-payments.ts'

it('raises the alarm for a batch of which fulfilment could read no event, and for no other failure', () => {
  const { logger, lines } = memoryLogger()
  const counted: unknown[] = []
  const metrics = { contractMismatch: () => void counted.push(1) }
  const empty = { settled: [], hasVerdict: false, failure: null, late: [], unread: null }
  const failed = (error = unavailable()) => ({ ...empty, failure: { error, putOff: [] } })
  reportMismatch(empty, { logger, metrics })
  reportMismatch(failed(), { logger, metrics })
  expect(counted).toHaveLength(0)
  reportMismatch(failed(contractMismatch({ events: 7 })), { logger, metrics })
  expect(counted).toHaveLength(1)
  expect(lines).toMatchObject([
    { level: 'error', msg: 'dispatch.contract-mismatch', error: { code: 'contract_mismatch' } },
  ])
})
