import { registerHooks } from 'node:module'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ESTree, parseSync, Visitor } from 'rolldown/utils'
import type { Entry } from './count-walk.ts'

// Runs the gateway. For each delivery, it logs which source files run, in the order in which they are first called.

const repository = resolve(import.meta.dirname, '../../..')
const OURS = /\/packages\/(?:gateway|kernel|queue|webhooks)\/src\/.+\.ts$/
const FRAMES = 30

let entries: Entry[] | undefined

/** Called first by every function. A delivery begins with the check of its framing and ends with its log line. */
function onCall(file: string, name: string): void {
  if (name === 'takeRequest') entries = []
  if (entries === undefined) return
  if (!entries.some((one) => one.file === file)) entries.push({ file, callers: callers() })
  if (name !== 'logAccepted') return
  process.stdout.write(`${JSON.stringify({ level: 'info', msg: 'delivery.walked', entries })}\n`)
  entries = undefined
}

/** The files whose functions wait for this call, the nearest first. Its own file may be among them. */
function callers(): string[] {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = FRAMES
  const { stack = '' } = new Error('where')
  Error.stackTraceLimit = before
  return Array.from(stack.matchAll(/file:\/\/[^:)]+\.ts/g), ([url]) => relative(repository, fileURLToPath(url)))
}

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    return OURS.test(url) && loaded.source ? { ...loaded, source: announced(url, `${loaded.source}`) } : loaded
  },
})
Object.assign(globalThis, { onCall })

/** The source, with a call of `onCall` at the start of every function. Lines stay where they are. */
function announced(url: string, source: string): string {
  const file = relative(repository, fileURLToPath(url))
  const added: { readonly at: number; readonly text: string }[] = []
  const announce = (node: ESTree.Function | ESTree.ArrowFunctionExpression): void => {
    if (!node.body) return
    const name = 'id' in node && node.id ? node.id.name : ''
    const call = `onCall(${JSON.stringify(file)}, ${JSON.stringify(name)})`
    if (node.type !== 'ArrowFunctionExpression' || !node.expression) {
      added.push({ at: node.body.start + 1, text: `${call};` })
      return
    }
    added.push({ at: source.lastIndexOf('=>', node.body.start) + 2, text: `(${call}, ` }, { at: node.end, text: ')' })
  }
  new Visitor({
    FunctionDeclaration: announce,
    FunctionExpression: announce,
    ArrowFunctionExpression: announce,
  }).visit(parseSync(file, source).program)
  return added
    .toSorted((one, other) => other.at - one.at)
    .reduce((text, { at, text: extra }) => text.slice(0, at) + extra + text.slice(at), source)
}

await import('../../../packages/gateway/src/main.ts')
