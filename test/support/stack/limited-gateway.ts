import { runGateway } from '@oncehook/gateway/start/run-gateway'
import { endAtSignals } from '@oncehook/kernel/time/stop-signals'

// A gateway with the limits in TEST_LIMITS, as JSON.
endAtSignals(process)
const { TEST_LIMITS = '{}', ...env } = process.env
await runGateway({ env, fetch: globalThis.fetch, limits: JSON.parse(TEST_LIMITS) })
