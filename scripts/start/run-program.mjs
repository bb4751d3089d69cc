// Runs a program that is not of Node.js as a service of the system: passes the request to stop on, and ends with it.
import { spawn } from 'node:child_process'

const [command = '', ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: 'inherit' })
process.on('SIGTERM', () => child.kill('SIGTERM'))
child.on('error', (error) => {
  process.stderr.write(`${command} cannot be started: ${error.message}\n`)
  process.exitCode = 1
})
child.on('exit', (code) => process.exit(code ?? 1))
