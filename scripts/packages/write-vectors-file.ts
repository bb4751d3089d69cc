import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'

const vectorFile = z.object({ scheme: z.string(), cases: z.array(z.looseObject({ why: z.string() })) })

/** Writes all vectors to one file, in the format of `contracts/vectors/README.md`. */
export async function writeVectorsFile(repository: string, file: string): Promise<void> {
  const folder = join(repository, 'contracts/vectors')
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted()
  const schemes = await Promise.all(
    names.map(async (name) => {
      const { scheme, cases } = vectorFile.parse(JSON.parse(await readFile(join(folder, name), 'utf8')))
      return { scheme, cases }
    }),
  )
  await writeFile(file, `${JSON.stringify({ format: 1, schemes })}\n`)
}
