import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Puts the newest Node.js 20 with the npm that comes with it into `/usr/local`, both from the npm registry. */
export async function installNode20(root: string): Promise<void> {
  const local = join(root, 'usr/local')
  const packages = { [`node-linux-${process.arch}@20`]: local, 'npm@10': join(local, 'lib/node_modules/npm') }
  const folder = mkdtempSync(join(root, 'tmp/node-'))
  for (const [name, target] of Object.entries(packages)) {
    const output = execFileSync('npm', ['pack', '--json', name], { cwd: folder, encoding: 'utf8' })
    const [{ filename }] = JSON.parse(output)
    mkdirSync(target, { recursive: true })
    execFileSync('tar', ['-xzf', join(folder, filename), '-C', target, '--strip-components=1', '--no-same-owner'])
  }
  rmSync(folder, { recursive: true })
  for (const tool of ['npm', 'npx']) symlinkSync(`../lib/node_modules/npm/bin/${tool}-cli.js`, join(local, 'bin', tool))
}
