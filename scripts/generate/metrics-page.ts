import { addReceiptGauges, createFulfilmentMetrics } from '@oncehook/fulfilment/metrics'
import {
  addHandlerGauge,
  addHandlerStateGauges,
  addInboxGauges,
  createGatewayMetrics,
  createHandlerMetrics,
  createRequestTimer,
} from '@oncehook/gateway/metrics'
import { addLogMetrics } from '@oncehook/kernel/log/log-output'
import { addClockSkewGauge, type ClockSkewOptions } from '@oncehook/kernel/mongo/database-clock'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { addMissingKeysGauge, createUnknownKeys } from '@oncehook/kernel/mongo/key-register'

type Registry = Parameters<typeof createDatabaseErrors>[0]

/** What a registry learns of a metric. */
interface Metric {
  readonly name: string
  readonly type: string
  readonly labelNames: readonly string[]
  readonly help: string
}

/** The page of the metrics, in Markdown. A test compares its names with what the services serve. */
export function describeMetrics(): string {
  return `<!-- Made by \`npm run fix\` from the metrics in the code. -->

# Metrics

Both services serve \`/metrics\` for Prometheus, without a token: the gateway on its private listener, fulfilment on its only one, or both on their
\`METRICS_PORT\`. [Alarms](../how-to/alert.md) says which metrics deserve an alarm.

- Counters start at 0 with each process: use \`rate()\` and \`increase()\`.
- Gauges are read from the database at each scrape, so every process reports the same value: use \`max\`, never \`sum\`. Two are about the process that
  reports them: use \`min\` of \`oncehook_handler_answers\` and \`max(abs(…))\` of \`oncehook_clock_skew_seconds\`. If the database cannot be read, a gauge is
  omitted: combine an alarm on it with one on \`absent()\`.
- \`outcome\` and \`verdict\` are codes of [errors](errors.md), or words of the [glossary](glossary.md).
- The usual \`process_*\` and \`nodejs_*\` metrics exist too. No label has an id, a secret or anything that a stranger can choose.

## Gateway

${tableOf(addGateway)}

## Handlers

The gateway has these only if \`HANDLERS\` is set.

${tableOf(addHandlers)}

## Fulfilment

${tableOf(addFulfilment)}

## Both services

${tableOf(addShared)}
`
}

function addGateway(registry: Registry): void {
  createGatewayMetrics(registry, unread)
  createRequestTimer(registry)
  addInboxGauges(registry, { readDepth: unread, paused: unread, providers: unread })
}

function addHandlers(registry: Registry): void {
  createHandlerMetrics(registry)
  addHandlerGauge(registry, { names: unread, readDepths: unread })
  addHandlerStateGauges(registry, { names: unread, refreshPaused: unread, paused: unread, isUp: unread })
}

function addFulfilment(registry: Registry): void {
  createFulfilmentMetrics(registry)
  addReceiptGauges(registry, unread)
}

function addShared(registry: Registry): void {
  addClockSkewGauge(registry, {} as ClockSkewOptions)
  addMissingKeysGauge(registry, { missing: unread })
  createUnknownKeys(registry)
  createDatabaseErrors(registry)
  addLogMetrics(registry, undefined)
}

function unread(): never {
  throw new Error('The metrics are described, not read')
}

function tableOf(add: (registry: Registry) => void): string {
  const metrics: Metric[] = []
  add({ registerMetric: (metric: Metric) => void metrics.push(metric) } as unknown as Registry)
  const rows = metrics.map(({ name, type, labelNames, help }) => [
    `\`${name}\``,
    type,
    labelNames.map((label) => `\`${label}\``).join(' '),
    help,
  ])
  const head = ['name', 'type', 'labels', 'meaning']
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
