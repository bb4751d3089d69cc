import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseSync } from 'vite'
import { expect, it } from 'vitest'

const SOURCES = resolve(import.meta.dirname, '..')
const files = globSync('**/*.{ts,tsx}', { cwd: SOURCES, exclude: ['texts/**', '**/*.test.ts'] })

/** Attributes and properties whose value a user reads or hears. */
const SHOWN =
  /^(?:alt|label|placeholder|title|caption|hint|text|message|submit|any|heading|summary|header)$|^aria-(?:label|description|placeholder|roledescription|valuetext)$/
/** Values that begin with a capital letter but are not shown. */
const TECHNICAL = ['Bearer ', 'Content-Type', 'Infinity']

interface Node {
  readonly type: string
  readonly [property: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

/** The texts in a source that a user can see. */
function visibleTexts(source: string): string[] {
  const found: string[] = []
  visit(parseSync('page.tsx', source).program, false, found)
  return found
}

/** Adds what is visible in a part of a source. `isShown`: the value of this part appears on the page. */
function visit(part: unknown, isShown: boolean, found: string[]): void {
  if (Array.isArray(part)) for (const one of part) visit(one, isShown, found)
  if (!isNode(part) || part.type.startsWith('Import')) return
  const text = textOf(part)
  if (text !== null && (isShown ? /\p{L}/u.test(text) : readsLikeText(text))) found.push(text)
  for (const [name, child] of Object.entries(part)) visit(child, showsItsPart(part, name, isShown), found)
}

function textOf({ type, value }: Node): string | null {
  if ((type === 'JSXText' || type === 'Literal') && typeof value === 'string') return value
  if (type !== 'TemplateElement' || typeof value !== 'object' || value === null || !('cooked' in value)) return null
  return String(value.cooked)
}

/** Whether a text begins like one for people: with a capital letter and a small one. */
function readsLikeText(text: string): boolean {
  return /^\p{Lu}\p{Ll}/u.test(text) && !TECHNICAL.includes(text)
}

/** Whether the value of this property of a node appears on the page. */
function showsItsPart(node: Node, property: string, isShown: boolean): boolean {
  switch (node.type) {
    case 'JSXElement':
    case 'JSXFragment':
      return property === 'children'
    case 'JSXAttribute':
    case 'Property':
      return property === 'value' && SHOWN.test(nameOf(node.type === 'Property' ? node.key : node.name))
    case 'ConditionalExpression':
      return isShown && property !== 'test'
    case 'LogicalExpression':
      return isShown && (property === 'right' || node.operator !== '&&')
    case 'BinaryExpression':
      return isShown && node.operator === '+'
    case 'JSXExpressionContainer':
    case 'TemplateLiteral':
    case 'ArrayExpression':
    case 'ParenthesizedExpression':
      return isShown
    default:
      return false
  }
}

function nameOf(key: unknown): string {
  return isNode(key) ? String(key.name ?? key.value) : ''
}

it.each([
  ['<p>Hello</p>', 'Hello'],
  ["<p>{isOpen ? 'open' : texts.closed}</p>", 'open'],
  ['<p>{isOpen && `open`}</p>', 'open'],
  ["<p>{isOpen && count + ' open'}</p>", ' open'],
  ['<button aria-label="close" />', 'close'],
  ["<Choice label={isOpen ? 'open' : ''} />", 'open'],
  ["const columns = [{ id: 'state', header: 'state now' }]", 'state now'],
  ["throw new Error('Not found')", 'Not found'],
])('finds the visible text in %s', (source, text) => {
  expect(visibleTexts(source)).toEqual([text])
})

it.each([
  ['<p className="text-quiet" role="status">{texts.loading}</p>'],
  ["<p>{state === 'open' && texts.open}</p>"],
  ["fetch('/metrics', { method: 'POST' })"],
])('finds none in %s', (source) => {
  expect(visibleTexts(source)).toEqual([])
})

it('every file is read', () => {
  expect(files.length).toBeGreaterThan(40)
})

it.each(files)('%s leaves the form of numbers and times to texts/', (file) => {
  expect(readFileSync(join(SOURCES, file), 'utf8')).not.toMatch(/\bIntl\.|\.toLocale\w*String\(/)
})

it.each(files)('%s has no visible text: all of them are in texts/', (file) => {
  expect(visibleTexts(readFileSync(join(SOURCES, file), 'utf8'))).toEqual([])
})
