import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/** What TLC is given. */
export interface TlcRun {
  /** The archive of TLC. */
  readonly jar: string
  /** The files of the module and of the modules that it extends. The first is the module itself. */
  readonly modules: readonly [string, ...string[]]
  /** The file of the configuration. */
  readonly config: string
  /** Modules without a file: their texts by name. */
  readonly texts?: Readonly<Record<string, string>>
  /** How many threads search. With one, the same history is found each time. */
  readonly workers: number
}

/** The exit code of TLC, or `a signal`, and what it printed. */
export interface TlcEnd {
  readonly code: number | string
  readonly output: string
}

const MOST_OUTPUT_BYTES = 64 * 1024 * 1024

/** Runs TLC in a temporary folder, which is removed at the end. */
export async function runTlc({ jar, modules, config, texts = {}, workers }: TlcRun): Promise<TlcEnd> {
  const folder = await mkdtemp(join(tmpdir(), 'oncehook-model-'))
  try {
    await Promise.all([
      ...modules.map((file) => cp(file, join(folder, basename(file)))),
      ...Object.entries(texts).map(([name, text]) => writeFile(join(folder, `${name}.tla`), text)),
      cp(config, join(folder, 'run.cfg')),
    ])
    const java = ['-XX:+UseParallelGC', '-Xmx2g', `-Djava.io.tmpdir=${folder}`, '-cp', jar, 'tlc2.TLC']
    const search = ['-workers', String(workers), '-deadlock', '-fp', '0', '-config', 'run.cfg']
    return await run('java', [...java, ...search, basename(modules[0], '.tla')], folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

function run(command: string, args: readonly string[], cwd: string): Promise<TlcEnd> {
  return new Promise((resolve) => {
    execFile(command, [...args], { cwd, maxBuffer: MOST_OUTPUT_BYTES }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? (error ? 'a signal' : 0), output: stdout + stderr })
    })
  })
}
