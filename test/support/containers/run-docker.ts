import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)
const MAX_OUTPUT = 64 * 1024 * 1024

/** What a command printed. */
export interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end. If it does not exit with 0, throws an error with its output. */
export async function runProgram(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Output> {
  return run(program, args, { maxBuffer: MAX_OUTPUT, env: { ...process.env, ...env } })
}

/** What `docker …` prints, without the end of its last line. */
export async function runDocker(...args: readonly string[]): Promise<string> {
  return (await runProgram(['docker', ...args])).stdout.trimEnd()
}
