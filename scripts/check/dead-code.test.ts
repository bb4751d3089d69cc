import { appendFile, cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { checks, runChecks } from './run-checks.ts'

const repository = resolve(import.meta.dirname, '../..')
const COPIED = [
  'package.json',
  'knip.json',
  'tsconfig.json',
  'vitest.config.ts',
  'packages',
  'scripts',
  'test',
  'bench',
  'examples',
]
const PLANTED = {
  cli: 'output.ts',
  console: 'api/role.ts',
  fulfilment: 'durable-read.ts',
  gateway: 'settings.ts',
  kernel: 'clock.ts',
  simulator: 'development-secret.ts',
}

it('the check for dead code sees exports and files of each package that nobody uses', async () => {
  const copy = await mkdtemp(join(tmpdir(), 'oncehook-check-'))
  try {
    const isOwn = (path: string): boolean => !path.includes('node_modules')
    for (const name of COPIED) await cp(join(repository, name), join(copy, name), { recursive: true, filter: isOwn })
    await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'))
    const names = Object.entries(PLANTED).map(([name, file]) => ({
      name: `plantedIn_${name}`,
      file: `packages/${name}/src/${file}`,
    }))
    for (const { name, file } of names) await appendFile(join(copy, file), `export const ${name} = 1\n`)
    const files = Object.keys(PLANTED).map((name) => `packages/${name}/src/planted-file.ts`)
    for (const file of files) await appendFile(join(copy, file), 'export const planted = 1\n')
    const said: string[] = []
    const deadCode = checks({ fix: false }).filter(({ name }) => name === 'dead code')
    expect(await runChecks(copy, deadCode, (text) => said.push(text))).toMatchObject([{ passed: false }])
    const reported = said.join('\n').match(/plantedIn_\w+/g)
    expect(reported?.toSorted()).toEqual(names.map(({ name }) => name))
    expect(
      said
        .join('\n')
        .match(/\S+planted-file\.ts/g)
        ?.toSorted(),
    ).toEqual(files)
  } finally {
    await rm(copy, { recursive: true })
  }
})
