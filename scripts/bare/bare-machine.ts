import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { cacheFolder } from '../mongod/provision-mongod.mjs'

const RELEASE = 'bookworm'
/** Besides Node.js: what the README asks for, and what the download of MongoDB needs. */
const PACKAGES = ['git', 'ca-certificates', 'python3-pip', 'libcurl4']

const KEPT_MS = 30 * 86_400_000

/** Mounts what every machine has, then waits as its first process: it reaps orphans, and its end ends all the others. */
const BOOT = `
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sysfs "$1/sys"
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$1/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
hostname bare
exec chroot "$1" bash -c 'echo booted; while read -r line; do :; done'`

/** A root file system with processes of its own. It shares the network with this machine, and nothing else. */
export interface BareMachine {
  readonly folder: string
  homeOf(user: string): string
  /** Runs a command of the shell after a login, and shows what it prints. */
  run(user: string, command: string): Running
  /** The same in a terminal. */
  runInTerminal(user: string, command: string): Running
  /** The command lines of its processes. */
  processes(): string[]
  /** Ends all processes and removes the files. */
  close(how: { keep: boolean }): Promise<void>
}

/** A command that a machine runs. */
interface Running {
  printed(): string
  /** Waits until it has printed this; fails if it ends before. */
  prints(words: RegExp): Promise<void>
  /** Waits for its end, and fails unless it exits with 0. */
  succeeds(): Promise<void>
  write(keys: string): void
}

/** Why this machine cannot have a bare machine inside. Undefined if it can. */
export function bareMachineFault(): string | undefined {
  if (process.platform !== 'linux') return 'that needs Linux'
  if (process.getuid?.() !== 0) return 'that needs root (sudo npm run test:bare)'
  const missing = ['debootstrap', 'unshare', 'nsenter'].find((tool) => spawnSync(tool, ['--version']).error)
  return missing && `${missing} is missing (Debian's packages debootstrap and util-linux have what is needed)`
}

/** Makes a Debian with a user `stranger`. The first call of a month takes a minute, later ones unpack a kept copy. */
export async function openBareMachine(say: (line: string) => void): Promise<BareMachine> {
  const cache = cacheFolder(process.env)
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'bare-')) // not /tmp, which may not allow devices
  const tarball = join(cache, `debian-${RELEASE}-${process.arch}-${PACKAGES.join('-')}.tgz`)
  if (!isNew(tarball)) {
    say(`Making ${tarball} with debootstrap (once a month) …`)
    makeTarball(folder, tarball)
  } else execFileSync('tar', ['-xzf', tarball, '-C', folder])
  chmodSync(folder, 0o755) // a temporary folder is closed to others, such as the stranger
  execFileSync('chroot', [folder, 'useradd', '--create-home', '--shell', '/bin/bash', 'stranger'])
  writeFileSync(join(folder, 'etc/hosts'), '127.0.0.1 localhost bare\n::1 localhost ip6-localhost ip6-loopback\n')
  writeFileSync(join(folder, 'etc/resolv.conf'), readFileSync('/etc/resolv.conf'))

  const holder = spawn('unshare', [
    ...'--mount --pid --ipc --uts --fork --kill-child sh -ec'.split(' '),
    BOOT,
    'sh',
    folder,
  ])
  holder.stderr.pipe(process.stderr)
  const ended = once(holder, 'exit')
  await Promise.race([once(holder.stdout, 'data'), ended.then(() => Promise.reject(new Error('unshare failed')))])
  const first = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').trim()
  const enter = (user: string, command: string): Running =>
    follow(
      spawn('nsenter', [
        ...['--target', first, '--mount', '--pid', '--ipc', '--uts', '--root', '--wd', '--'],
        ...['env', '-i', `TERM=${process.env.TERM ?? 'dumb'}`, '/usr/sbin/runuser', '-l', user, '-c', command],
      ]),
    )
  return {
    folder,
    homeOf: (user) => (user === 'root' ? '/root' : `/home/${user}`),
    run: enter,
    // `script` passes on to its terminal what is written to it, such as Ctrl-C.
    runInTerminal: (user, command) => enter(user, `script -qefc "${command}" /dev/null`),
    processes: () => processesBeside(first),
    async close({ keep }) {
      holder.stdin.end()
      await ended
      if (keep) say(`Kept: chroot ${folder}`)
      else rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Younger than a month: Debian's updates are what a stranger's machine has, too. */
function isNew(tarball: string): boolean {
  const made = statSync(tarball, { throwIfNoEntry: false })
  return made !== undefined && Date.now() - made.mtimeMs < KEPT_MS
}

function makeTarball(folder: string, tarball: string): void {
  const include = `--include=${PACKAGES.join(',')}`
  execFileSync('debootstrap', ['--variant=minbase', include, RELEASE, folder, debianMirror()], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  execFileSync('sh', ['-c', 'rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*', 'sh', folder])
  execFileSync('tar', ['-czf', `${tarball}.part`, '-C', folder, '.'])
  renameSync(`${tarball}.part`, tarball)
}

/** The mirror that apt uses on this machine for the same release, or Debian's own. */
function debianMirror(): string {
  const folder = '/etc/apt/sources.list.d'
  const files = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
  const texts = [...files, '/etc/apt/sources.list'].filter(existsSync).map((file) => readFileSync(file, 'utf8'))
  const form = new RegExp(`^deb .*?(http\\S+) ${RELEASE} .*main|^URIs: *(http\\S+)\\nSuites: *${RELEASE}\\b`, 'm')
  const [, oneLine, deb822] = form.exec(texts.join('\n')) ?? []
  return oneLine ?? deb822 ?? 'http://deb.debian.org/debian'
}

function follow(child: ChildProcessWithoutNullStreams): Running {
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => {
    lines.push(line)
    process.stdout.write(`${line}\n`)
  })
  child.stderr.pipe(process.stderr)
  const exit = once(child, 'close').then(([code, signal]) => code ?? signal)
  const printed = () => lines.join('\n')
  return {
    printed,
    async prints(words) {
      while (!words.test(printed())) {
        const ended = await Promise.race([once(reader, 'line').then(() => false), exit.then(() => true)])
        if (ended) throw new Error(`It ended before it printed ${words}`)
      }
    },
    async succeeds() {
      const code = await exit
      if (code !== 0) throw new Error(`${child.spawnargs.at(-1)}: ended with ${code}`)
    },
    write: (keys) => void child.stdin.write(keys),
  }
}

function processesBeside(first: string): string[] {
  const own = readlinkSync(`/proc/${first}/ns/pid`)
  return readdirSync('/proc').flatMap((pid) => {
    try {
      if (!/^\d+$/.test(pid) || pid === first || readlinkSync(`/proc/${pid}/ns/pid`) !== own) return []
      return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')]
    } catch {
      return [] // it has ended
    }
  })
}
