// Indented JSON whose objects and lists can be folded, and whose lines can be searched.

import type { ReactNode } from 'react'

const OPENED_DEPTH = 3
/** So many lines are folded from some depth on. Fewer are shown whole. */
const MANY_LINES = 80

interface Tree {
  /** The number of its line. */
  readonly line: number
  readonly text: string
  /** What is inside, and the line that closes it. */
  readonly inside?: readonly Tree[]
  readonly close?: string
}

/** The text must be indented by two spaces for each level. */
export function JsonTree({ text, sought }: { readonly text: string; readonly sought: string }) {
  const lines = text.split('\n')
  const depth = sought !== '' || lines.length <= MANY_LINES ? Number.POSITIVE_INFINITY : OPENED_DEPTH
  return <Lines trees={toTrees(lines)} sought={sought.toLowerCase()} openTo={depth} />
}

function toTrees(lines: readonly string[]): readonly Tree[] {
  const open: { line: number; text: string; inside: Tree[] }[] = [{ line: -1, text: '', inside: [] }]
  for (const [line, indented] of lines.entries()) {
    const text = indented.trimStart()
    if (/[[{]$/.test(text)) open.push({ line, text, inside: [] })
    else if (/^[\]}]/.test(text)) {
      const opened = open.pop()
      if (opened !== undefined) open.at(-1)?.inside.push({ ...opened, close: text })
    } else open.at(-1)?.inside.push({ line, text })
  }
  return open[0]?.inside ?? []
}

interface LinesProps {
  readonly trees: readonly Tree[]
  readonly sought: string
  readonly openTo: number
}

function Lines({ trees, sought, openTo }: LinesProps): ReactNode {
  return trees.map(({ line, text, inside, close }) =>
    inside === undefined ? (
      <Line key={line} text={text} sought={sought} />
    ) : (
      <details key={line} open={openTo > 0} className="json">
        <summary>
          <Line text={text} sought={sought} />
        </summary>
        <div className="pl-4">
          <Lines trees={inside} sought={sought} openTo={openTo - 1} />
        </div>
        <Line text={close ?? ''} sought="" />
      </details>
    ),
  )
}

function Line({ text, sought }: { readonly text: string; readonly sought: string }) {
  const isFound = sought !== '' && text.toLowerCase().includes(sought)
  return isFound ? <mark className="block break-all">{text}</mark> : <span className="block break-all">{text}</span>
}
