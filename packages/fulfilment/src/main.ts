import { restartWithHeapFlags } from '@oncehook/kernel/restart-with-heap-flags'
import { endAtSignals } from '@oncehook/kernel/stop-signals'

const heapIsBound = restartWithHeapFlags(process)
// Only now: a signal that arrives while Node re-executes itself would be lost.
endAtSignals(process)
// Loaded once, in the process that keeps running.
const { runFulfilment } = await import('./run-fulfilment.ts')
await runFulfilment({ env: process.env, heapIsBound, fetch: globalThis.fetch })
