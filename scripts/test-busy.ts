// Runs tests several times in a random order while the processors and the disk are busy, and keeps a table of what
// failed how often. Options: `--times N` (3), `--table` prints the table, `--forget` clears it; everything else goes to
// `npm test`. A later call adds to the table.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { startLoad } from './busy/load.ts'
import { addRun, describeTable, readTable, writeTable } from './busy/table.ts'

const repository = resolve(import.meta.dirname, '..')
const folder = join(repository, '.data')
const tableFile = join(folder, 'busy-tests.json')
const results = join(folder, 'busy-results.json')
const STOPS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const args = process.argv.slice(2)
const say = (line: string): void => void process.stdout.write(`${line}\n`)

mkdirSync(folder, { recursive: true, mode: 0o700 })
if (take('--forget')) rmSync(tableFile, { force: true })
else if (!take('--table')) await repeat(Number(take('--times', 1) ?? 3))
for (const line of describeTable(readTable(tableFile))) say(line)

async function repeat(times: number): Promise<void> {
  await using _load = startLoad()
  for (let run = 1; run <= times; run++) {
    const seed = Math.floor(Math.random() * 1_000_000)
    say(`== Run ${run} of ${times} beside a load: --sequence.shuffle --sequence.seed=${seed}`)
    rmSync(results, { force: true })
    if ((await test(seed)) !== 0) process.exitCode = 1
    if (!existsSync(results)) return say('The run was stopped, and is not counted')
    writeTable(tableFile, addRun(readTable(tableFile), JSON.parse(readFileSync(results, 'utf8')), seed))
  }
}

async function test(seed: number): Promise<number | null> {
  const order = ['--sequence.shuffle', `--sequence.seed=${seed}`]
  const given = ['scripts/test.ts', '--json', results, ...order, ...args]
  const child = spawn(process.execPath, given, { cwd: repository, stdio: 'inherit' })
  const stop = (): void => void child.kill('SIGTERM')
  for (const signal of STOPS) process.on(signal, stop)
  const [code] = await once(child, 'exit')
  for (const signal of STOPS) process.off(signal, stop)
  return code
}

/** Takes an option of our own out of the arguments, with its value. */
function take(name: string, values: 0 | 1 = 0): string | undefined {
  const index = args.indexOf(name)
  return index < 0 ? undefined : args.splice(index, 1 + values).at(-1)
}
