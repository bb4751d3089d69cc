import Table from 'cli-table3'
import { toPrintable } from './output.ts'

const NOTHING = [
  ...['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'],
]

/**
 * The lines of a table with column names and no frame, for people and for programs such as cut. Cells are made printable,
 * because most contain external text.
 */
export function toTableLines(
  head: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): string[] {
  const table = new Table({
    head: [...head],
    chars: Object.fromEntries(NOTHING.map((name) => [name, ''])),
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 2 },
  })
  table.push(...rows.map((row) => row.map((cell) => (cell === null ? '-' : toPrintable(String(cell))))))
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
}
