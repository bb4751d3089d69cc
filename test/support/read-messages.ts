import { parseAst } from 'rolldown/parseAst'

/** A text in a source: a message, a label, a description. */
export interface Message {
  /** Where it begins: 1 for the first line. */
  readonly line: number
  readonly text: string
}

const TWO_WORDS = /\S\s+\S/
/** Is in a text where the program inserts a value. */
const VALUE = '…'

/** The texts of a source that have at least two words. Codes, names and paths have one. */
export function readMessages(source: string, file: string): readonly Message[] {
  const program = parseAst(source, { lang: file.endsWith('x') ? 'tsx' : 'ts' }, file)
  const found = [...textsIn(program)].filter(({ text }) => TWO_WORDS.test(text))
  return found.map(({ start, text }) => ({ line: source.slice(0, start).split('\n').length, text }))
}

interface FoundText {
  readonly start: number
  readonly text: string
}

function* textsIn(node: unknown): Generator<FoundText> {
  if (typeof node !== 'object' || node === null) return
  const text = textOf(node)
  if (text !== null) yield text
  for (const child of Object.values(node)) yield* textsIn(child)
}

/** Part of a node of the syntax tree (ESTree). */
interface Node {
  readonly type?: string
  readonly start?: number
  readonly value?: unknown
  readonly quasis?: readonly { readonly value: { readonly cooked: string | null; readonly raw: string } }[]
}

function textOf({ type, start = 0, value, quasis = [] }: Node): FoundText | null {
  if (type === 'TemplateLiteral') {
    return { start, text: quasis.map((part) => part.value.cooked ?? part.value.raw).join(VALUE) }
  }
  const isText = (type === 'Literal' || type === 'JSXText') && typeof value === 'string'
  return isText ? { start, text: value } : null
}
