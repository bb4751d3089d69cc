// Runs the commands of the README as a stranger would: clones this repository on a Debian machine that has npm, git and
// Node.js 20, starts the system, pays an order, stops it, and runs the tests. Options: `--only start` or `--only test`,
// `--keep` to keep the files of that machine, `--as-root`; everything else is passed to `npm test`.
import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bareMachineFault, openBareMachine } from './bare/bare-machine.ts'
import { copyClientConfiguration } from './bare/client-configuration.ts'
import { installNode20 } from './bare/install-node.ts'

const repository = resolve(import.meta.dirname, '..')
const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, keep: { type: 'boolean' }, 'as-root': { type: 'boolean' } },
})
const say = (line: string): void => void process.stdout.write(`${line}\n`)

const fault = bareMachineFault()
if (fault) {
  process.stderr.write(`There can be no bare machine here: ${fault}\n`)
  process.exit(1)
}
const machine = await timed('a bare Debian', () => openBareMachine(say))
const user = options['as-root'] ? 'root' : 'stranger'
let ending: Promise<void> | undefined
const clone = `${machine.homeOf(user)}/oncehook`
try {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void end(130))
  copyClientConfiguration(machine.folder, machine.homeOf(user))
  await timed('Node.js 20', () => installNode20(machine.folder))
  await timed('git clone', cloneRepository)
  if (options.only !== 'test') await timed('npm start, the printed line, Ctrl-C', startAndPay)
  if (options.only !== 'start') await timed('npm test', test)
  const minutes = performance.now() / 60_000
  say(
    `All of it took ${Math.round(minutes * 60)} s${minutes > 12 ? ': more than the 12 minutes that it should take' : ''}`,
  )
  await end(0)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  await end(1)
}

/** Clones the committed state. */
async function cloneRepository(): Promise<void> {
  const copy = join(machine.folder, 'srv/oncehook.git')
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', copy])
  execFileSync('git', ['push', '--quiet', copy, 'HEAD:refs/heads/main'], { cwd: repository })
  await machine.run('root', `chown -R ${user} /srv/oncehook.git`).succeeds()
  await machine.run(user, `git clone --quiet /srv/oncehook.git '${clone}'`).succeeds()
}

async function startAndPay(): Promise<void> {
  const system = machine.runInTerminal(user, `cd '${clone}' && npm start`)
  await system.prints(/^Ready/m)
  const [line] = /^npm run oncehook -- send .+$/m.exec(system.printed()) ?? []
  if (line === undefined) throw new Error('npm start printed no line to paste')
  const payment = machine.run(user, `cd '${clone}' && ${line.trim()}`)
  await payment.succeeds()
  if (!/pending -> paid/.test(payment.printed())) throw new Error('The order is not paid')
  system.write('\x03')
  await system.succeeds()
  const left = machine.processes()
  if (left.length > 0) throw new Error(`Ctrl-C left processes behind:\n${left.join('\n')}`)
}

async function test(): Promise<void> {
  const given = filters.map((filter) => `'${filter}'`)
  await machine.run(user, `cd '${clone}' && npm test -- ${given.join(' ')}`).succeeds()
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now()
  say(`== ${what}`)
  const result = await work()
  say(`== ${what}: ${Math.round((performance.now() - started) / 1_000)} s`)
  return result
}

/** Ends once: what a signal interrupts fails directly afterwards. */
async function end(code: number): Promise<void> {
  ending ??= machine.close({ keep: options.keep ?? false })
  process.exitCode ??= code
  await ending
  process.exit()
}
