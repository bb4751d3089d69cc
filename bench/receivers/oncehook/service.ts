import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endProcess } from '../../../scripts/processes/end-process.ts'
import { SERVICE_FLAGS } from '../../../scripts/start/node-flags.ts'

/** How to run one of our services. */
export interface ServiceRun {
  /** The name of its package. */
  readonly name: 'gateway' | 'fulfilment'
  readonly env: Readonly<Record<string, string>>
  /** Answers 200 as soon as the service is ready for its requests. */
  readonly readyUrl: string
  readonly logFolder: string
  readonly nodeFlags: readonly string[]
}

/** A running service. */
export interface Service extends AsyncDisposable {
  readonly pid: number
}

const READY_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 15_000
const ROOT = join(import.meta.dirname, '../../..')
const LEAVE_WITH_PARENT = import.meta.resolve('../../../scripts/start/leave-with-parent.mjs')

/** Starts a service as users do, with its log at the usual level in a file. Does not wait until it is ready. */
export function spawnService(run: ServiceRun): Service & { readonly child: ChildProcess } {
  const log = openSync(join(run.logFolder, `${run.name}.log`), 'w')
  const main = join(ROOT, 'packages', run.name, 'src', 'main.ts')
  const child = spawn(process.execPath, [...SERVICE_FLAGS, ...run.nodeFlags, '--import', LEAVE_WITH_PARENT, main], {
    env: { ...process.env, NODE_ENV: 'production', ...run.env },
    stdio: ['ignore', log, log, 'ipc'],
  })
  closeSync(log)
  const { pid = 0 } = child
  return { child, pid, [Symbol.asyncDispose]: async () => void (await endProcess(pid, STOP_TIMEOUT_MS)) }
}

/** Starts a service and waits until it is ready. */
export async function startService(run: ServiceRun): Promise<Service> {
  const service = spawnService(run)
  const deadline = performance.now() + READY_TIMEOUT_MS
  while (!(await isReady(run.readyUrl))) {
    if (service.child.exitCode !== null || performance.now() > deadline) {
      await service[Symbol.asyncDispose]()
      throw new Error(`The ${run.name} did not become ready; its log is ${run.name}.log in ${run.logFolder}`)
    }
    await sleep(25)
  }
  return service
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}
