// How commands write: one JSON document with `--json`, else lines and tables of printable text.

import type { CliContext } from './command.ts'

export function writeJson({ write }: CliContext, document: unknown): void {
  write(`${JSON.stringify(document, null, 2)}\n`)
}

export function writeLines({ write }: { readonly write: (text: string) => void }, lines: readonly string[]): void {
  for (const line of lines) write(`${line}\n`)
}

/** Writes the document with `--json`, else the lines. */
export function writeResult(
  context: CliContext,
  { json }: { readonly json?: boolean },
  document: unknown,
  lines: readonly string[],
): void {
  if (json) writeJson(context, document)
  else writeLines(context, lines)
}

/** External text on one line, without control characters, cut after 500 characters. */
export function toPrintable(text: string): string {
  const safe = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => (/\s/.test(character) ? ' ' : '\ufffd'))
  return safe.length <= 500 ? safe : `${safe.slice(0, 500)}…`
}

/** `2026-11-21 08:00:05Z` for an ISO 8601 time; a dash for null. */
export function toTime(iso: string | null): string {
  const at = new Date(iso ?? Number.NaN)
  return Number.isNaN(at.getTime()) ? '-' : `${at.toISOString().slice(0, 19).replace('T', ' ')}Z`
}

/** `12 s`, `3 min`, `2.5 h`, `4 d`; a dash for null. */
export function toAge(seconds: number | null): string {
  if (seconds === null) return '-'
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${(seconds / 3_600).toFixed(1)} h` : `${Math.round(seconds / 86_400)} d`
}

/**
 * The lines of a table with column names and no frame, for people and for programs such as cut. Cells are made printable,
 * because most contain external text.
 */
export function toTableLines(
  head: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): string[] {
  const lines = [head, ...rows].map((row) => row.map((cell) => (cell === null ? '-' : toPrintable(String(cell)))))
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd((widths[column] ?? 0) + 2))
      .join('')
      .trimEnd(),
  )
}
