import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { vectorFiles } from '../../contracts/vectors/generator/vector-files.ts'
import { DESCRIPTIONS, demandDescription, describedText } from '../contracts/release-files.ts'
import type { Say } from '../progress.ts'
import { describeErrors } from './errors-page.ts'
import { describeFaults } from './faults-page.ts'
import { describeOrders } from './order-schemas.ts'

/** A file of the repository that is generated from the sources. */
export interface GeneratedFile {
  readonly path: string
  /** Its up-to-date content. */
  readonly content: () => Promise<string>
}

const BEGIN = '<!-- The table is made by `npm run fix` from what the OpenAPI document is made of. -->'
const END = '<!-- End of the table. -->'

/** Every generated file, in the order of generation: each file may depend on earlier ones. */
export function generatedFiles(repository: string): readonly GeneratedFile[] {
  const http = 'docs/reference/http.md'
  return [
    {
      path: 'packages/gateway/src/orders/openapi/order-schemas.json',
      content: async () => `${JSON.stringify(describeOrders(), null, 2)}\n`,
    },
    {
      path: http,
      async content() {
        // Imported here, because it imports the previous file.
        const { describeHttp } = await import('./http-table.ts')
        return withTable(readFileSync(join(repository, http), 'utf8'), describeHttp())
      },
    },
    {
      path: 'docs/reference/command-line.md',
      async content() {
        const { describeCommandLine } = await import('./command-line.ts')
        return describeCommandLine()
      },
    },
    {
      path: 'docs/reference/metrics.md',
      async content() {
        const { describeMetrics } = await import('./metrics-page.ts')
        return describeMetrics()
      },
    },
    { path: 'docs/reference/errors.md', content: async () => describeErrors(repository) },
    { path: 'docs/explanation/faults.md', content: async () => describeFaults(repository) },
    ...Object.entries(DESCRIPTIONS).map(([provider, describe]) => ({
      path: `contracts/${provider}.json`,
      content: async () => {
        if (process.env.UPDATE_CONTRACTS !== '1') demandDescription(join(repository, 'contracts'), provider)
        return describedText(describe())
      },
    })),
    ...vectorFiles(),
  ]
}

/** Writes every generated file again. */
export async function writeGeneratedFiles(repository: string, say: Say): Promise<void> {
  for (const { path, content } of generatedFiles(repository)) {
    writeFileSync(join(repository, path), await content())
    say(`Wrote ${path}`)
  }
}

function withTable(text: string, table: string): string {
  const [before, rest = ''] = text.split(BEGIN)
  const [, after] = rest.split(END)
  if (before === undefined || after === undefined) throw new Error('The place of the table is not marked')
  return `${before}${BEGIN}\n\n${table}\n\n${END}${after}`
}
