import { resolveQuickly } from '@oncehook/kernel/resolve-quickly'
import { restartWithHeapFlags } from '@oncehook/kernel/restart-with-heap-flags'
import { endAtSignals } from '@oncehook/kernel/stop-signals'

const heapIsBound = restartWithHeapFlags(process)
// Not earlier: a signal that arrives while Node replaces itself would be lost.
endAtSignals(process)
resolveQuickly()
// Loaded here, so that only the process that stays loads it.
const { runGateway } = await import('./run-gateway.ts')
await runGateway({ env: process.env, heapIsBound, fetch: globalThis.fetch })
