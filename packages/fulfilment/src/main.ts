import { endAtSignals } from '@oncehook/kernel/time/stop-signals'

endAtSignals(process)
// Loaded after the signals have their listeners, because it takes a while.
const { runFulfilment } = await import('./run-fulfilment.ts')
await runFulfilment({ env: process.env, fetch: globalThis.fetch })
