/** Cells as lines of text, the first column aligned to the left, the others to the right. */
export function textTable(cells: readonly (readonly string[])[]): string[] {
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)))
  const align = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return cells.map((line) => line.map(align).join('  ').trimEnd())
}

/** Cells as a table of Markdown; the first line is the heading. Columns of numbers are aligned to the right. */
export function markdownTable(cells: readonly (readonly string[])[]): string[] {
  const [heading = [], ...body] = cells
  const lines = cells.map((line) => `| ${line.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
  const isNumber = (cell = ''): boolean => /^[\d.,]*$/.test(cell)
  const rules = heading.map((_, column) => (body.every((line) => isNumber(line[column])) ? '--:' : '---'))
  return [...lines.slice(0, 1), `|${rules.join('|')}|`, ...lines.slice(1)]
}
