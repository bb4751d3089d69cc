import { spawn } from 'node:child_process'
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
}

/** A running service. */
export interface Service extends AsyncDisposable {
  readonly pid: number
}

const READY_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 15_000
const ROOT = join(import.meta.dirname, '../../..')
const LEAVE_WITH_PARENT = import.meta.resolve('../../../scripts/start/leave-with-parent.mjs')

/** Starts a service as users do, with its log at the usual level in a file, and waits until it is ready. */
export async function startService(run: ServiceRun): Promise<Service> {
  const log = openSync(join(run.logFolder, `${run.name}.log`), 'w')
  const main = join(ROOT, 'packages', run.name, 'src', 'main.ts')
  const child = spawn(process.execPath, [...SERVICE_FLAGS, '--import', LEAVE_WITH_PARENT, main], {
    env: { ...process.env, NODE_ENV: 'production', ...run.env },
    stdio: ['ignore', log, log, 'ipc'],
  })
  closeSync(log)
  const { pid = 0 } = child
  const service = { pid, [Symbol.asyncDispose]: async () => void (await endProcess(pid, STOP_TIMEOUT_MS)) }
  const deadline = performance.now() + READY_TIMEOUT_MS
  while (!(await isReady(run.readyUrl))) {
    if (child.exitCode !== null || performance.now() > deadline) {
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
