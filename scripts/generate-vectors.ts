import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { vectorFiles } from './vectors/vector-files.ts'

const repository = resolve(import.meta.dirname, '..')
for (const { path, content } of vectorFiles()) {
  writeFileSync(join(repository, path), content)
  console.log(`Wrote ${path}`)
}
