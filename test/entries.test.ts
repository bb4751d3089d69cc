import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const repository = resolve(import.meta.dirname, '..')

/** The entries of a package that other files than its own import. */
function importedEntries(name: string): Set<string> {
  const files = globSync('{packages,scripts,test,bench,docker}/**/*.{ts,mjs,cjs}', {
    cwd: repository,
    exclude: ['**/node_modules/**', `packages/${name}/**`],
  })
  const imports = new RegExp(`'@oncehook/${name}/([^']+)'`, 'g')
  return new Set(
    files.flatMap((file) =>
      Array.from(readFileSync(join(repository, file), 'utf8').matchAll(imports), ([, entry]) => `./${entry}`),
    ),
  )
}

// The webhooks package is not among them: others than we use its entries.
it.each(['fulfilment', 'gateway', 'kernel', 'queue', 'simulator'])(
  'the entries of %s are the files that another package imports, by name: knip sees what nobody uses',
  (name) => {
    const { exports: entries } = JSON.parse(
      readFileSync(join(repository, `packages/${name}/package.json`), 'utf8'),
    ) as { readonly exports: Readonly<Record<string, string>> }
    expect(Object.keys(entries).toSorted()).toEqual([...importedEntries(name)].toSorted())
    for (const [entry, file] of Object.entries(entries)) expect(file).toBe(`./src/${entry.slice(2)}.ts`)
  },
)
