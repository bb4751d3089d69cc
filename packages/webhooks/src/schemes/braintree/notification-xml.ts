import { isObject, type JsonObject } from '../../events/json-object.ts'

const TOKEN = /<\/([\w.:-]+)\s*>|<([\w.:-]+)((?:\s+[\w.:-]+=(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/y
const ATTRIBUTE = /([\w.:-]+)=("[^"]*"|'[^']*')/g
const DECLARATION = /^\s*<\?xml [^<>?]*\?>/
const ENTITY = /&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6}));/g
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }
const MOST_LEVELS = 64

interface Element {
  readonly name: string
  readonly type: string | undefined
  readonly isNil: boolean
  readonly children: (readonly [name: string, value: unknown])[]
  text: string
}

/**
 * The values in the XML of a notification of Braintree, by the names of its elements: a list for an element of the type `array` and
 * for elements of one name, null for `nil="true"`, true and false, integers, and text for everything else. Null if it is none.
 *
 * Own code, because it can be stricter than a parser of XML. Braintree writes elements, attributes, text, and the five entities and
 * characters by number for what a customer has typed. Everything else is refused: comments, CDATA, a DOCTYPE, other entities, text
 * beside elements, an end that is not that of the element. What remains can be read in one way only, so that no text is taken for an
 * element. It reads only what Braintree has signed.
 */
export function readNotification(xml: string): JsonObject | null {
  const text = xml.replace(DECLARATION, '').trim()
  const root: Element = { name: '', type: undefined, isNil: false, children: [], text: '' }
  const open = [root]
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const token = TOKEN.exec(text)
    if (token === null || !take(token, open)) return null
  }
  const [only, ...others] = root.children
  const isWhole = open.length === 1 && others.length === 0 && root.text === '' && only?.[0] === 'notification'
  return isWhole && isObject(only[1]) ? only[1] : null
}

/** Takes the next token into the innermost open element. False if it cannot stand there. */
function take([, ended, begun, attributes = '', isEmpty, text]: RegExpExecArray, open: Element[]): boolean {
  const inner = open.at(-1)
  if (inner === undefined) return false
  if (text !== undefined) {
    const decoded = decode(text)
    inner.text += decoded ?? ''
    return decoded !== null
  }
  if (begun !== undefined) {
    open.push(begin(begun, attributes))
    return open.length <= MOST_LEVELS && (isEmpty === '' || end(begun, open))
  }
  return end(ended, open)
}

function begin(name: string, attributes: string): Element {
  const named = new Map(
    [...attributes.matchAll(ATTRIBUTE)].map(([, key = '', quoted = '']) => [key, quoted.slice(1, -1)]),
  )
  return { name, type: named.get('type'), isNil: named.get('nil') === 'true', children: [], text: '' }
}

function end(name: string | undefined, open: Element[]): boolean {
  const element = open.pop()
  const outer = open.at(-1)
  if (element === undefined || outer === undefined || element.name !== name) return false
  const value = contentOf(element)
  outer.children.push([element.name, value])
  return value !== undefined
}

/** Undefined if its content is none of its type. */
function contentOf({ type, isNil, children, text }: Element): unknown {
  const isBlank = text.trim() === ''
  if (isNil) return isBlank && children.length === 0 ? null : undefined
  if (type === 'array') return isBlank ? children.map(([, value]) => value) : undefined
  if (children.length > 0) return isBlank ? objectOf(children) : undefined
  return scalarOf(type, text)
}

function scalarOf(type: string | undefined, text: string): unknown {
  if (type === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true'
  return type === 'integer' && /^-?\d{1,15}$/.test(text) ? Number(text) : text
}

function objectOf(children: Element['children']): JsonObject {
  const named = new Map<string, unknown[]>()
  for (const [name, value] of children) {
    const values = named.get(name)
    if (values === undefined) named.set(name, [value])
    else values.push(value)
  }
  return Object.fromEntries([...named].map(([name, values]) => [name, values.length === 1 ? values[0] : values]))
}

function decode(text: string): string | null {
  if (!text.includes('&')) return text
  let isKnown = !text.replace(ENTITY, '').includes('&')
  const decoded = text.replace(
    ENTITY,
    (_, name: string | undefined, digits: string | undefined, hex: string | undefined) => {
      if (name !== undefined) return NAMED[name] ?? ''
      const code = digits === undefined ? Number.parseInt(hex ?? '', 16) : Number(digits)
      const isCharacter = code > 0 && code <= 0x10_ffff && !(code >= 0xd800 && code <= 0xdfff)
      isKnown &&= isCharacter
      return isCharacter ? String.fromCodePoint(code) : ''
    },
  )
  return isKnown ? decoded : null
}
