import { unavailable } from '@oncehook/kernel/http/error-codes'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { describe, expect, it } from 'vitest'
import type { WebhookCall } from './admission.ts'
import { RefusalSummary, type RefuseDeps, refuseDelivery } from './refuse-delivery.ts'

function summaryOf() {
  const { logger, lines } = memoryLogger()
  return { summary: new RefusalSummary(logger), lines }
}

const delivery = {
  requestId: 'request-1',
  provider: 'acme',
  address: '192.0.2.1',
  status: 429,
  code: 'rate_limited',
  reason: 'signature_mismatch',
}

describe('RefusalSummary', () => {
  it('writes one line for each address and provider, with how many there were', () => {
    const { summary, lines } = summaryOf()
    for (let n = 0; n < 5_000; n += 1) summary.add({ ...delivery, requestId: `request-${n}` })
    summary.add({ ...delivery, address: '192.0.2.2' })
    summary.add({ ...delivery, provider: 'shop' })
    expect(lines).toEqual([])
    summary.write()
    const line = { msg: 'webhook.refused', status: 429, code: 'rate_limited', reason: 'signature_mismatch' }
    expect(lines).toMatchObject([
      { ...line, provider: 'acme', address: '192.0.2.1', times: 5_000, requestId: 'request-0' },
      { ...line, provider: 'acme', address: '192.0.2.2', times: 1 },
      { ...line, provider: 'shop', address: '192.0.2.1', times: 1 },
    ])
  })

  it('writes 101 lines at most, however many addresses there are', () => {
    const { summary, lines } = summaryOf()
    for (let n = 0; n < 30_000; n += 1) summary.add({ ...delivery, address: `198.51.${n}.1` })
    summary.write()
    expect(lines).toHaveLength(101)
    expect(lines.at(-1)).toMatchObject({ address: 'others', provider: 'others', times: 29_900 })
  })

  it('gives 100 refusals and 10 alarms a separate line in each turn', () => {
    const { summary } = summaryOf()
    for (let turn = 0; turn < 2; turn += 1) {
      expect(Array.from({ length: 200 }, () => summary.takeLine()).filter(Boolean)).toHaveLength(100)
      expect(Array.from({ length: 20 }, () => summary.takeAlarm()).filter(Boolean)).toHaveLength(10)
      summary.write()
    }
  })
})

describe('refuseDelivery', () => {
  it('writes 100 lines of a failure in a second, however many deliveries fail', () => {
    const { logger, lines } = memoryLogger()
    const metrics = { delivered: () => undefined } as unknown as RefuseDeps['metrics']
    const unused = {} as RefuseDeps['addresses'] & RefuseDeps['refusals']
    const deps = { logger, metrics, summary: new RefusalSummary(logger), addresses: unused, refusals: unused }
    const call = { provider: { name: 'acme' }, address: '192.0.2.1', ids: { requestId: 'r' }, startedAt: 0 }
    for (let times = 0; times < 250; times += 1) {
      expect(refuseDelivery(deps, call as unknown as WebhookCall, unavailable())).toMatchObject({ status: 503 })
    }
    expect(lines).toHaveLength(100)
    expect(lines[0]).toMatchObject({ msg: 'webhook.failed', level: 'error', provider: 'acme', requestId: 'r' })
  })
})
