import type { Command } from 'commander'
import { readWhole } from '../option-values.ts'
import { toPrintable } from '../output.ts'

/** The options by which a command names a page of a list. */
export interface PageOptions {
  readonly limit?: number
  readonly after?: string
}

/** Gives a command the options of `PageOptions`. */
export function addPageOptions(command: Command): Command {
  return command
    .option('--limit <n>', 'page size, at most 100 (default: 20)', readWhole(1, 100))
    .option('--after <cursor>', 'cursor from the last line of the previous page')
}

/** The page that the options mean, in the form of the operator API. */
export function toPage({ limit, after }: PageOptions): PageOptions {
  return { ...(limit === undefined ? {} : { limit }), ...(after === undefined ? {} : { after }) }
}

/** The line that says how to go on; none on the last page. */
export function describeNext(next: string | null): string[] {
  return next === null ? [] : [`More: repeat with --after ${toPrintable(next)}`]
}
