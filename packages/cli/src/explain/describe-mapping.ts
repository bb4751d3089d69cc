import {
  type Meaning,
  type ProviderSettings,
  pointersOf,
  pointersOfMapping,
  resolvePointer,
  type WebhookEvent,
} from '@oncehook/webhooks/providers'
import { toPrintable } from '../output.ts'

const MOST_SHOWN = 80

/** Lines that say what each pointer of the settings finds in each event of a body. None if the body is no JSON. */
export function describeMapping(
  { read = {}, events: meanings = {} }: Pick<ProviderSettings, 'read' | 'events'>,
  events: readonly WebhookEvent[],
  rawBody: Buffer,
): string[] {
  const body = parsed(rawBody)
  if (body === undefined) return []
  return events.flatMap(({ facts: { pointer = '' } }) => {
    const document = resolvePointer(body, pointer)
    const lineOf = (name: string, path: string): string =>
      `${name} at ${path}: ${shown(resolvePointer(document, path))}`
    return [
      ...pointersOfMapping(read).map(([name, path]) => lineOf(`read.${name}`, path)),
      ...Object.entries(meanings).flatMap(([type, meaning]) =>
        conditionsOf(meaning).map((path) => lineOf(`events of ${toPrintable(type)}, where`, path)),
      ),
    ]
  })
}

function conditionsOf(meaning: Meaning): string[] {
  return typeof meaning === 'string' ? [] : pointersOf(meaning.where)
}

function parsed(rawBody: Buffer): unknown {
  try {
    return JSON.parse(rawBody.toString('utf8'))
  } catch {
    return undefined
  }
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : toPrintable(JSON.stringify(value).slice(0, MOST_SHOWN))
}
