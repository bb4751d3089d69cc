import { createRequire } from 'node:module'
import type * as prometheus from 'prom-client'

// The entry point of prom-client also loads the default metrics and the API of OpenTelemetry, 60 files more. They would take
// a tenth of the time until the gateway accepts its first delivery.
const require = createRequire(import.meta.url)

/** The `Counter` of prom-client, without the rest of it. */
export const Counter: typeof prometheus.Counter = require('prom-client/lib/counter')

/** The `Gauge` of prom-client, without the rest of it. */
export const Gauge: typeof prometheus.Gauge = require('prom-client/lib/gauge')

/** The `Histogram` of prom-client, without the rest of it. */
export const Histogram: typeof prometheus.Histogram = require('prom-client/lib/histogram')

/** The `Registry` of prom-client, without the rest of it. */
export const Registry: typeof prometheus.Registry = require('prom-client/lib/registry')
