import { endAtSignals } from '@oncehook/kernel/time/stop-signals'

endAtSignals(process)
// Loaded after the signals have their listeners, because it takes a while.
const { runGateway } = await import('./start/run-gateway.ts')
await runGateway({ env: process.env, fetch: globalThis.fetch })
