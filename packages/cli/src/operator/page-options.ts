import type { Command } from 'commander'
import { readWhole } from '../options/option-values.ts'
import { toPrintable } from '../output.ts'

/** The options for a page of a list. */
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

/** Converts the options to the page parameters of the operator API. */
export function toPage({ limit, after }: PageOptions): PageOptions {
  return { ...(limit === undefined ? {} : { limit }), ...(after === undefined ? {} : { after }) }
}

/** A line with the cursor of the next page; no line on the last page. */
export function describeNext(next: string | null): string[] {
  return next === null ? [] : [`More: repeat with --after ${toPrintable(next)}`]
}
