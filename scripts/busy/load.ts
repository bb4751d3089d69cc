import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** Both end with the process that started them, even if that is killed. */
const LOOP = `
const parent = process.ppid
while (process.ppid === parent) for (let i = 0; i < 1e8; i++);`
const WRITER = `
const { fsyncSync, openSync, unlinkSync, writeSync } = require('node:fs')
const file = require('node:path').join(require('node:os').tmpdir(), 'oncehook-busy-' + process.pid)
const opened = openSync(file, 'w')
unlinkSync(file)
const [parent, block] = [process.ppid, Buffer.alloc(65536, 1)]
for (let i = 0; process.ppid === parent; i++) {
  writeSync(opened, block, 0, block.length, (i % 256) * block.length)
  fsyncSync(opened)
}`

/** Two endless loops per processor, and a writer that waits for the disk after every block. */
export function startLoad(): AsyncDisposable {
  const programs = [...Array<string>(2 * availableParallelism()).fill(LOOP), WRITER]
  const children = programs.map((program) => spawn(process.execPath, ['-e', program], { stdio: 'inherit' }))
  return {
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL')
    },
  }
}
