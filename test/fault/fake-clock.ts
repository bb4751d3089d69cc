import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import { requireTool } from '../../scripts/tools/find-tool.ts'
import { until } from '../support/until.ts'

/** The clock of one process, set by a test. Timers use the monotonic clock and stay as they are. */
export interface FakeClock extends AsyncDisposable {
  /** What the process needs in its environment. */
  readonly env: Readonly<Record<string, string>>
  /** Sets the clock this many seconds ahead of the real time; resolves once `read`, the clock of the process, shows it. */
  set(seconds: number, read: () => Promise<Date>): Promise<void>
}

const TOLERANCE_S = 30

/** Creates a clock that shows the real time. Skips the test without libfaketime. */
export async function createFakeClock(context: TestContext): Promise<FakeClock> {
  const library = await requireTool('faketime', context)
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-clock-'))
  const file = join(folder, 'offset')
  const write = async (seconds: number): Promise<void> => {
    // In one step: a process must not read half of a number.
    await writeFile(`${file}.new`, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`)
    await rename(`${file}.new`, file)
  }
  await write(0)
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // With it, waits of mongod end at once, and it keeps a core busy.
      FAKETIME_FORCE_MONOTONIC_FIX: '0',
    },
    async set(seconds, read) {
      await write(seconds)
      const offset = async (): Promise<number> => ((await read()).getTime() - Date.now()) / 1_000
      await until(offset, (found) => Math.abs(found - seconds) < TOLERANCE_S)
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Removes what libfaketime leaves in memory of a killed process: a later process of this id could not start. */
export async function removeFakeClockRemains(pid: number): Promise<void> {
  const remains = [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`]
  await Promise.all(remains.map((name) => rm(join('/dev/shm', name), { force: true })))
}
