import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SettledClaim } from '../claim/claim.ts'
import { sampleClaim } from '../testing/sample-task.ts'
import type { Settlement } from '../transitions.ts'
import { createSettledLog } from './settled-log.ts'

const deferral: Settlement = {
  ...{ state: 'pending', delayMs: 750, waited: 750, waitedFor: { code: 'handler_failed', ms: 750 } },
}

function settledOf(settlement: Settlement): SettledClaim {
  const code = 'handler_failed'
  return {
    claim: sampleClaim('evt_1', { handler: 'mail', record: { type: 'a type' } }),
    settlement,
    attempt: { ms: 1, outcome: settlement.state === 'pending' ? 'deferred' : settlement.state, code, message: null },
  }
}

describe('the log of settled events', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('gives 100 deferred events a line in each second, and counts the others in one line', () => {
    const { logger, lines } = memoryLogger()
    const log = createSettledLog({ logger, handler: 'mail', fields: ['requestId', 'type', 'orderId'] })
    for (let second = 0; second < 2; second += 1) {
      lines.length = 0
      for (let n = 0; n < 800; n += 1) log(settledOf(deferral))
      expect(lines).toHaveLength(100)
      expect(lines[0]).toMatchObject({
        msg: 'event.deferred',
        handler: 'mail',
        eventId: 'evt_1',
        delayMs: 750,
        type: 'a type',
      })
      vi.advanceTimersByTime(1_000)
      expect(lines.slice(100)).toMatchObject([{ level: 'warn', msg: 'event.deferred', handler: 'mail', times: 700 }])
    }
  })

  it('has a line for every event that ends', () => {
    const { logger, lines } = memoryLogger()
    const log = createSettledLog({ logger, handler: 'fulfilment', fields: [] })
    for (let n = 0; n < 300; n += 1) log(settledOf({ state: 'dead', reason: 'handler_refused' }))
    expect(lines).toHaveLength(300)
  })
})
