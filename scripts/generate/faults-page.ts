import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const HEAD = `<!-- Made by \`npm run fix\` from the titles of the tests. -->

# Faults

The tests that cause the faults of [failure modes](failure-modes.md). An ellipsis stands for what a test varies.

| id | what is tested | test |
|---|---|---|
`

/** The page of the faults, in Markdown: every test and every group of tests with the id of a fault in its title. */
export function describeFaults(repository: string): string {
  const files = globSync('{test,packages}/**/*.test.ts', { cwd: repository, exclude: ['**/node_modules'] })
  const rows = files.flatMap((file) =>
    faultsIn(readFileSync(join(repository, file), 'utf8')).map(([id, text]) => `| ${id} | ${text} | \`${file}\` |`),
  )
  return `${HEAD}${rows.toSorted().join('\n')}\n`
}

// The title of a test or group, also after a table of cases, and the indentation of its line.
const TITLE = /^( *).*?(?:\b(?:it|test|describe)(?:\.\w+)*|\))\(\s*(['"`])(.+?)\2/gm

/** The id and the text of each title with an id. The text begins with the titles of the groups around it. */
function faultsIn(source: string): (readonly [id: string, text: string])[] {
  let around: { indent: number; title: string }[] = []
  return Array.from(source.matchAll(TITLE)).flatMap(([, { length: indent } = '', , title = '']) => {
    around = [...around.filter((group) => group.indent < indent), { indent, title }]
    const text = textOf(around.map((group) => group.title).join(' '))
    return (title.match(/FP-\d\d/g) ?? []).map((id) => [id, text] as const)
  })
}

/** A title without the ids that it begins with, and without placeholders. */
function textOf(title: string): string {
  return title.replaceAll(/(?:FP-|\bH)\d\d:? /g, '').replaceAll(/\$\{.*?\}|%s/g, '…')
}
