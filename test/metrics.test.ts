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

type Described = Record<string, { type: string; help: string }>

/** The table below a heading: name -> type, labels and meaning. */
function rowsOf(heading: string): Record<string, { type: string; labels: string[]; help: string }> {
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const rows = section.matchAll(/^\| `(\w+)` \| (\w+) \| ([`\w ]*?) ?\| (.+) \|$/gm)
  return Object.fromEntries(
    Array.from(rows, ([, name = '', type = '', labels = '', help = '']) => [
      name,
      { type, labels: [...labels.matchAll(/\w+/g)].map(String).sort(), help },
    ]),
  )
}

async function scrape(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text()
}

function describedIn(metrics: string): Described {
  const helps = new Map(
    Array.from(metrics.matchAll(/^# HELP (oncehook_\w+) (.+)$/gm), ([, name, help]) => [name, help]),
  )
  const types = metrics.matchAll(/^# TYPE (oncehook_\w+) (\w+)$/gm)
  return Object.fromEntries(
    Array.from(types, ([, name = '', type = '']) => [name, { type, help: helps.get(name) ?? '' }]),
  )
}

/** The names of the labels of each metric that has samples. */
function labelsIn(metrics: string): Record<string, string[]> {
  const labels: Record<string, string[]> = {}
  for (const [, name = '', inner = ''] of metrics.matchAll(/^(oncehook_\w+?)(?:_bucket)?(?:\{(.*?)\})? -?[\d.]+$/gm)) {
    const names = Array.from(inner.matchAll(/(\w+)="/g), ([, label = '']) => label).filter((label) => label !== 'le')
    if (!/_(?:sum|count)$/.test(name)) labels[name] = names.sort()
  }
  return labels
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
    [['Gateway', 'Handlers'], () => system.gateway.adminUrl],
    [['Fulfilment'], () => system.fulfilment.url],
  ])(
    'tells name, type, labels and meaning of every metric below %s, and of none that does not exist',
    async (headings, url) => {
      const metrics = await scrape(url())
      const rows = Object.assign({}, ...headings.map(rowsOf)) as ReturnType<typeof rowsOf>
      expect(Object.fromEntries(Object.entries(rows).map(([name, { type, help }]) => [name, { type, help }]))).toEqual(
        describedIn(metrics),
      )
      const labels = labelsIn(metrics)
      for (const [name, names] of Object.entries(labels)) expect([name, rows[name]?.labels]).toEqual([name, names])
      const unseen = Object.keys(rows).filter((name) => labels[name] === undefined)
      // One needs a delivery of PayPal, one a task, and one a broken database: other tests cover them.
      const elsewhere = ['oncehook_transmissions_reused_total', 'oncehook_task_attempts_total']
      expect(unseen.filter((name) => !elsewhere.includes(name))).toEqual(['oncehook_database_errors_total'])
    },
  )

  it('names no metric elsewhere that does not exist', () => {
    const known = new Set(['Gateway', 'Fulfilment', 'Handlers'].flatMap((heading) => Object.keys(rowsOf(heading))))
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
