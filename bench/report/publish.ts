import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const BEGIN = '<!-- figures of the last published run: written by npm run bench:full -- --publish -->'
const END = '<!-- end of the figures -->'
const DOCUMENT = 'performance.md'
const PICTURE = 'latency-against-rate.svg'

/** Writes the figures of a run into `performance.md` in the folder of the documents, and its picture beside it. */
export function publish(folder: string, figures: string, picture: string | null): void {
  const path = join(folder, DOCUMENT)
  writeFileSync(path, replaceFigures(readFileSync(path, 'utf8'), figures))
  if (picture !== null) writeFileSync(join(folder, PICTURE), picture)
}

/**
 * Replaces the figures in a document.
 * @throws Error if the document has no place for figures
 */
export function replaceFigures(document: string, figures: string): string {
  const [before, rest] = splitOnce(document, BEGIN)
  const [, after] = splitOnce(rest, END)
  return `${before}${BEGIN}\n\n${figures.trim()}\n\n${END}${after}`
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark)
  if (at === -1) throw new Error(`The document has no line ${mark}`)
  return [text.slice(0, at), text.slice(at + mark.length)]
}
