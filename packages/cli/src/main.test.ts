import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'

const MAIN = resolve(import.meta.dirname, 'main.ts')

it('a command whose output nobody reads any more ends without a message, as with `| head`', async () => {
  const command = spawn(process.execPath, [MAIN, 'send', '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(command, 'exit')
  command.stdout.destroy()
  const [message, [exitCode]] = await Promise.all([text(command.stderr), ended])
  expect({ message, exitCode }).toEqual({ message: '', exitCode: 1 })
})
