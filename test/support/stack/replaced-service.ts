import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { COMPILED_CODE } from '../compiled-code.ts'
import { until } from '../until.ts'
import type { Ending, Settings } from './service-under-test.ts'
import type { Stack } from './stack.ts'
import { fulfilmentSettings, gatewaySettings } from './stack-settings.ts'

const PACKAGES = join(import.meta.dirname, '../../../packages')

/** How a service differs from that of the stack. */
export interface Replacement {
  readonly settings?: Settings
  /** File descriptors. Default: those of the test. */
  readonly stdout?: number
  readonly stderr?: number
}

/** A service as a user would start it, instead of the one of a stack. Disposing of it starts that one again. */
export interface ReplacedService extends AsyncDisposable {
  readonly child: ChildProcess
  /** Where its probes and metrics are. */
  readonly port: number
  /** Stops it with SIGTERM and waits until it is gone. */
  stop(): Promise<Ending>
}

/** Stops a service of the stack and starts it with other outputs or settings; it is ready when this resolves. */
export async function replaceService(
  stack: Stack,
  name: 'gateway' | 'fulfilment',
  { settings = {}, stdout, stderr }: Replacement = {},
): Promise<ReplacedService> {
  await using resources = new AsyncDisposableStack()
  await stack[name].kill('SIGTERM')
  resources.defer(() => stack[name].start())
  const own = name === 'gateway' ? gatewaySettings(stack.place) : fulfilmentSettings(stack.place)
  const child = spawn(process.execPath, [join(PACKAGES, name, 'src/main.ts')], {
    env: { ...COMPILED_CODE, PATH: process.env.PATH, ...own, ...settings },
    stdio: ['ignore', stdout ?? 'inherit', stderr ?? 'inherit'],
  })
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  resources.defer(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const port = name === 'gateway' ? stack.place.adminPort : stack.place.fulfilmentPort
  await until(
    () => isUp(port),
    (up) => up || child.exitCode !== null,
  )
  if (child.exitCode !== null) throw new Error(`The ${name} ended with ${child.exitCode}`)
  const owned = resources.move()
  return {
    child,
    port,
    async stop() {
      const toldAt = performance.now()
      child.kill('SIGTERM')
      const [code, signal] = await ended
      return { code, signal, ms: performance.now() - toldAt }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function isUp(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
    ({ ok }) => ok,
    () => false,
  )
}
