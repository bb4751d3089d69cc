import { restartWithHeapFlags } from '@oncehook/kernel/restart-with-heap-flags'
import { endAtSignals } from '@oncehook/kernel/stop-signals'

const heapIsBound = restartWithHeapFlags(process)
// Not before: a signal that comes while Node replaces itself would be heard by nobody.
endAtSignals(process)
// Loaded once, by the process that stays.
const { runFulfilment } = await import('./run-fulfilment.ts')
await runFulfilment({ env: process.env, heapIsBound, fetch: globalThis.fetch })
