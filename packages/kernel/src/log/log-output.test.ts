import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposableSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openUnreadPipe } from '../testing/unread-pipe.ts'

// 4 MB: more than a pipe and the buffer together can hold.
const LINES = 8_000
const LINE_BYTES = 500
// Less than the buffer: no line is lost while a disk stalls.
const WAITING_LINES = 1_500

interface Counted {
  readonly dropped: number
  readonly ms: number
}

/** A process that logs to the given standard output and follows commands. */
class LoggingProcess implements AsyncDisposable {
  readonly child: ChildProcess
  readonly ended: Promise<[number | null, NodeJS.Signals | null]>

  constructor(stdout: number) {
    const script = `
      import { lookup } from 'node:dns/promises'
      import { pbkdf2 } from 'node:crypto'
      import { stat } from 'node:fs/promises'
      import { promisify } from 'node:util'
      import { LogOutput } from './log-output.ts'
      import { createLogger } from './logger.ts'
      const output = new LogOutput()
      const logger = createLogger({ service: 'x', level: 'info', destination: output })
      let n = 0
      const hash = () => promisify(pbkdf2)('x', 'y', 1, 8, 'sha1')
      const work = {
        async log(count) {
          for (let done = 0; done < count; done += 100) {
            for (let line = 0; line < 100; line += 1) logger.info({ n: n++, text: 'x'.repeat(${LINE_BYTES - 80}) }, 'line')
            await new Promise(setImmediate)
          }
        },
        pool: () => Promise.all(Array.from({ length: 8 }, () => [hash(), stat('.'), lookup('localhost')]).flat()),
        crash() {
          logger.fatal({}, 'service.crashed')
          process.exit(78)
        },
        leave() {
          process.disconnect()
        },
      }
      process.on('message', async ([name, value]) => {
        const begun = performance.now()
        await work[name](value)
        if (process.connected) process.send({ dropped: output.dropped, ms: performance.now() - begun })
      })
      process.send({})`
    this.child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: import.meta.dirname,
      stdio: ['ignore', stdout, 'inherit', 'ipc'],
    })
    this.ended = once(this.child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  }

  /** Runs a command. Returns the number of lines lost so far and the time it took. Throws without a reply. */
  async does(...work: [name: 'log' | 'pool', value?: number]): Promise<Counted> {
    const answer = once(this.child, 'message', { signal: AbortSignal.timeout(20_000) })
    this.child.send(work)
    const [counted] = await answer
    return counted as Counted
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended
  }
}

async function startLogging(stdout: number): Promise<LoggingProcess> {
  const logging = new LoggingProcess(stdout)
  await once(logging.child, 'message')
  return logging
}

interface Line {
  readonly msg: string
  readonly n?: number
  readonly lines?: number
}

const parsed = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line) as Line)

describe('a log whose pipe nobody reads', () => {
  it('holds up neither its process nor the thread pool, and counts what it loses', async () => {
    using pipe = openUnreadPipe()
    await using logging = await startLogging(pipe.writeEnd)
    const { dropped } = await logging.does('log', LINES)
    expect(dropped).toBeGreaterThan(LINES / 2)
    expect(dropped).toBeLessThan(LINES - 1_048_576 / 2 / LINE_BYTES)
    await logging.does('pool')
  })

  it('writes all waiting lines once it is read, complete and in order, and then the number of lost lines', async () => {
    using pipe = openUnreadPipe()
    await using logging = await startLogging(pipe.writeEnd)
    const { dropped } = await logging.does('log', LINES)
    pipe.read()
    await expect.poll(() => parsed(pipe.lines).find(({ msg }) => msg === 'log.lines-dropped')).toBeDefined()
    const kept = LINES - dropped
    await expect.poll(() => pipe.lines.length).toBe(kept + 1)
    const lines = parsed(pipe.lines)
    expect(lines.filter(({ msg }) => msg === 'line').map(({ n }) => n)).toEqual([...Array(kept).keys()])
    expect(lines.find(({ msg }) => msg === 'log.lines-dropped')?.lines).toBe(dropped)

    await logging.does('log', 100)
    await expect.poll(() => parsed(pipe.lines.slice(-100)).map(({ n }) => n)).toContain(LINES + 99)
  })

  it.each(['crash', 'leave'])('ends soon all the same (%s)', async (end) => {
    using pipe = openUnreadPipe()
    await using logging = await startLogging(pipe.writeEnd)
    await logging.does('log', LINES)
    logging.child.send([end])
    expect(await logging.ended).toEqual([end === 'crash' ? 78 : 0, null])
  })
})

describe('the last lines', () => {
  it('come out when a process that writes to a file crashes', async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'log-output-'))
    const path = join(folder.path, 'log')
    await using logging = await startLogging(openSync(path, 'a'))
    const { dropped } = await logging.does('log', WAITING_LINES)
    expect(dropped).toBe(0)
    logging.child.send(['crash'])
    expect(await logging.ended).toEqual([78, null])
    const lines = parsed(readFileSync(path, 'utf8').trimEnd().split('\n'))
    const written = lines.map(({ n, msg }) => n ?? msg)
    expect(written).toHaveLength(WAITING_LINES + 1)
    // What the pool was to write may come behind what the exit writes.
    expect(new Set(written)).toEqual(new Set([...Array(WAITING_LINES).keys(), 'service.crashed']))
  })
})

describe('a log that cannot be written', () => {
  it('continues when its reader is gone', async () => {
    using pipe = openUnreadPipe()
    await using logging = await startLogging(pipe.writeEnd)
    pipe.abandon()
    expect((await logging.does('log', LINES)).dropped).toBeGreaterThan(0)
    await logging.does('pool')
    logging.child.send(['leave'])
    expect(await logging.ended).toEqual([0, null])
  })
})
