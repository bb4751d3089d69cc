import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { paymentEvent, startOperatedSystem } from '@oncehook/gateway/testing/start-operated-system'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { until } from './support/until.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
// It wants none of the events of this test.
const handler = {
  ...{ https: 'http://127.0.0.1:9/hook', events: [{ types: ['of.nobody'] }] },
  secrets: [{ id: '1', value: `whsec_${randomBytes(32).toString('base64')}` }],
}
const settings = { HANDLERS: JSON.stringify({ billing: handler }) }
const system = stack.use(await startOperatedSystem(database, { settings }))
const text = readFileSync(join(import.meta.dirname, '../docs/reference/metrics.md'), 'utf8')

/** The names in the tables below these headings, in order. */
function namesBelow(headings: readonly string[]): string[] {
  const sections = text.split(/^## /m).filter((part) => headings.some((heading) => part.startsWith(`${heading}\n`)))
  return Array.from(sections.join('').matchAll(/^\| `(\w+)`/gm), ([, name = '']) => name).toSorted()
}

async function scrape(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text()
}

/** An event that fails, is revived by a repeated delivery, fails again and is closed. */
async function reviveAndClose(): Promise<void> {
  const id = randomUUID()
  const body = paymentEvent(id, { orderId: await system.order(), amount: 1 })
  await system.deliver(body)
  await system.until(id, ({ state }) => state === 'dead')
  await system.deliver(body)
  const { _id } = await system.until(id, ({ state, attempts }) => state === 'dead' && attempts.length === 2)
  await system.operator().events.close.mutate({ id: String(_id), reason: 'a test' })
}

/** Lets every counter count. */
async function makeTraffic(): Promise<void> {
  const id = randomUUID()
  const orderId = await system.order()
  const body = paymentEvent(id, { orderId })
  await system.deliver(body)
  await system.deliver(body)
  await system.deliver(paymentEvent(id, { orderId: 'another body' }))
  await system.deliver(paymentEvent(randomUUID()), { secret: 'of a forger' })
  await system.deliver({ ...paymentEvent(randomUUID()), livemode: false })
  await system.until(id, ({ state, mismatches }) => state === 'done' && mismatches === 1)
  await fetch(`${system.gateway.url}/api/orders`)
  await reviveAndClose()
  // The services count after they write.
  await until(
    () => scrape(system.fulfilment.url),
    (metrics) => metrics.includes('oncehook_receipt_attempts_total{state="sent"} 1'),
  )
  await until(
    () => scrape(system.gateway.adminUrl),
    (metrics) => ['delivery_mismatches', 'event_attempts'].every((name) => metrics.includes(`oncehook_${name}_total{`)),
  )
}

await makeTraffic()

const readDocument = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8')
const ALERTS = readDocument('docker/alerts.yaml')

describe('docs/reference/metrics.md', () => {
  it.each([
    [['Gateway', 'Handlers', 'Both services'], () => system.gateway.adminUrl],
    [['Fulfilment', 'Both services'], () => system.fulfilment.url],
  ])('names below %s every metric that the service has, and no other', async (headings, url) => {
    const metrics = await scrape(url())
    const names = namesBelow(headings)
    expect(names).toEqual(Array.from(metrics.matchAll(/^# TYPE (oncehook_\w+) /gm), ([, name]) => name).toSorted())
    const seen = new Set(Array.from(metrics.matchAll(/^(oncehook_\w+?)(?:_bucket)?[{ ]/gm), ([, name = '']) => name))
    // One needs a delivery of PayPal, one a task, and one a broken database: other tests cover them.
    const elsewhere = ['oncehook_transmissions_reused_total', 'oncehook_task_attempts_total']
    const unseen = names.filter((name) => !seen.has(name) && !elsewhere.includes(name))
    expect(unseen).toEqual(['oncehook_database_errors_total'])
  })

  it('names no metric elsewhere that does not exist', () => {
    const known = new Set(namesBelow(['Gateway', 'Handlers', 'Fulfilment', 'Both services']))
    const [, grow = ''] = readDocument('docs/how-to/deploy-three-machines.md').split('\n## Grow\n')
    const named = new Set(`${ALERTS}${grow}`.match(/oncehook_[a-z_]+/g))
    expect(named.size).toBeGreaterThan(5)
    for (const name of named) expect(known).toContain(name.replace(/_(?:bucket|sum|count)$/, ''))
  })
})

describe('docs/how-to/alert.md', () => {
  it('says for each alarm of the rules file what to do, and names no others', () => {
    const rows = readDocument('docs/how-to/alert.md').match(/^\| `Oncehook.+$/gm) ?? []
    const named = rows.flatMap((row) => row.match(/Oncehook\w+(?=.+ \| )/g) ?? [])
    const declared = Array.from(ALERTS.matchAll(/ alert: (\w+)/g), ([, name = '']) => name)
    expect(declared.length).toBeGreaterThan(20)
    expect([...new Set(named)].toSorted()).toEqual(declared.toSorted())
  })
})

describe('the metrics', () => {
  it('count events correctly', async () => {
    const metrics = await scrape(system.gateway.adminUrl)
    for (const line of [
      /oncehook_deliveries_total\{provider="acme",outcome="recorded"\} 2/,
      /oncehook_deliveries_total\{provider="acme",outcome="duplicate"\} 3/,
      /oncehook_deliveries_total\{provider="acme",outcome="signature_invalid"\} 1/,
      /oncehook_verification_failures_total\{provider="acme",reason="signature_mismatch"\} 1/,
      /oncehook_delivery_mismatches_total\{provider="acme"\} 1/,
      /oncehook_event_attempts_total\{state="done",outcome="applied"\} 1/,
      /oncehook_request_seconds_count\{route="\/api\/webhooks\/\{provider\}",status="200"\} 6/,
      /oncehook_claims_lost_total 0/,
      /oncehook_dead_events_redelivered_total\{provider="acme",outcome="revived"\} 1/,
      /oncehook_events_dead 0/,
      /oncehook_events_closed 1/,
    ]) {
      expect(metrics).toMatch(line)
    }
    const told = await scrape(system.fulfilment.url)
    expect(told).toMatch(/oncehook_events_applied_total\{verdict="applied"\} 1/)
    expect(told).toMatch(/oncehook_receipts_unsettled 0/)
  })
})
