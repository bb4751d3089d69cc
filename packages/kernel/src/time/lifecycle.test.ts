import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { memoryLogger } from '../testing/memory-logger.ts'
import { Lifecycle } from './lifecycle.ts'

interface Line {
  readonly msg: string
  readonly level: string
  readonly [field: string]: unknown
}

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly lines: readonly Line[]
  readonly stderr: string
}

/** A process that runs the given start function as a service. `stage(name, stop, withinMs)` adds stop stages. */
function runningService(start: string) {
  return running(`
    import { setTimeout as sleep } from 'node:timers/promises'
    import { createLogger } from '../log/logger.ts'
    import { runService } from './lifecycle.ts'
    import { SettingsError } from '../settings/settings.ts'
    const logger = createLogger({ service: 'test', level: 'trace' })
    setTimeout(() => process.exit(99), 10_000)
    await runService({ env: process.env, logger, async start(lifecycle) {
      const stage = (name, stop = () => {}, withinMs = 2_000) => lifecycle.onStop({ name, stop, withinMs })
      ${start}
      logger.info({}, 'ready')
    } })`)
}

/** A process that runs a script, which may import the files of this folder. */
function running(script: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname })
  const lines: Line[] = []
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk)
  })
  const output = createInterface(child.stdout)
  output.on('line', (line) => void lines.push(JSON.parse(line) as Line))
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal, lines, stderr }))
  return {
    ended,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Waits for a log line. */
    async logged(msg: string): Promise<void> {
      while (!lines.some((line) => line.msg === msg)) await Promise.race([once(output, 'line'), rejectAtEnd(ended)])
    },
  }
}

async function rejectAtEnd(ended: Promise<Ended>): Promise<never> {
  throw new Error(`The process ended too early: ${JSON.stringify(await ended)}`)
}

const stagesOf = ({ lines }: Ended): unknown[] =>
  lines.filter(({ stage }) => stage !== undefined).map(({ stage }) => stage)
const messagesOf = ({ lines }: Ended): string[] => lines.map(({ msg }) => msg)

describe.concurrent('runService', () => {
  it.for(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'stops in reverse order at %s and exits with 0',
    async (signal, { expect }) => {
      const service = runningService(`stage('database'); stage('worker', () => sleep(50)); stage('listener')`)
      await service.logged('ready')
      service.kill(signal)
      const ended = await service.ended
      expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' })
      expect(stagesOf(ended)).toEqual(['listener', 'worker', 'database'])
      expect(messagesOf(ended).at(1)).toBe('service.stopping')
      expect(ended.lines.at(-1)).toMatchObject({ msg: 'service.stopped', clean: true })
    },
  )

  it('does not wait for a late stage, logs it and exits with 1', async ({ expect }) => {
    const service = runningService(`stage('database'); stage('stuck', () => new Promise(() => {}), 50)`)
    await service.logged('ready')
    service.kill('SIGTERM')
    const ended = await service.ended
    expect(ended.code).toBe(1)
    expect(stagesOf(ended)).toEqual(['stuck', 'database'])
    const failed = ended.lines.filter(({ msg }) => msg === 'service.stage-failed')
    expect(failed).toMatchObject([{ stage: 'stuck', level: 'error' }])
  })

  it('continues after a failing stage and exits with 1', async ({ expect }) => {
    const service = runningService(`stage('database')
      stage('rejecting', async () => { throw new Error('canary') })
      stage('throwing', () => { throw new Error('canary') })`)
    await service.logged('ready')
    service.kill('SIGTERM')
    const ended = await service.ended
    expect(ended.code).toBe(1)
    expect(stagesOf(ended)).toEqual(['throwing', 'rejecting', 'database'])
    expect(ended.lines.at(-1)).toMatchObject({ clean: false })
    expect(JSON.stringify(ended)).not.toContain('canary')
  })

  it.for(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'ends with 0 at %s that comes while it is loaded, before it runs',
    async (signal, { expect }) => {
      const service = running(`
        import { endAtSignals } from './stop-signals.ts'
        endAtSignals(process)
        setTimeout(() => process.exit(99), 10_000)
        console.log(JSON.stringify({ msg: 'loading' }))`)
      await service.logged('loading')
      service.kill(signal)
      expect(await service.ended).toMatchObject({ code: 0, signal: null, stderr: '' })
    },
  )

  it.for([
    ['a rejection that nobody handled', `void Promise.reject(new RangeError('canary'))`],
    ['an exception that nobody caught', `setImmediate(() => { throw new RangeError('canary') })`],
  ] as const)('logs %s and exits with 1', async ([, mistake], { expect }) => {
    const ended = await runningService(`stage('database'); setTimeout(() => { ${mistake} }, 20)`).ended
    expect(ended).toMatchObject({ code: 1, stderr: '' })
    expect(ended.lines.at(-1)).toMatchObject({ level: 'fatal', msg: 'service.crashed', error: { name: 'RangeError' } })
    expect(JSON.stringify(ended)).not.toContain('canary')
  })
})

describe('Lifecycle', () => {
  it('ends within its total time, whatever the stages take together, and begins each stage', async () => {
    const { logger, lines } = memoryLogger()
    const lifecycle = new Lifecycle(logger, 100)
    lifecycle.onStop({ name: 'quick', stop: () => undefined, withinMs: 60_000 })
    const never = (): Promise<void> => new Promise(() => undefined)
    for (const name of ['stuck', 'stuck too']) lifecycle.onStop({ name, stop: never, withinMs: 60_000 })
    expect(await lifecycle.stop()).toBe(false)
    expect(lines).toMatchObject([
      { stage: 'stuck too', msg: 'service.stage-failed' },
      { stage: 'stuck', msg: 'service.stage-failed' },
      { stage: 'quick', msg: 'service.stage-stopped' },
    ])
  })
})
