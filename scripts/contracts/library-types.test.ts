import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { libraryBreaks } from './library-types.ts'

const REPOSITORY = join(import.meta.dirname, '../..')

function textOf(library: string): string {
  return readFileSync(join(REPOSITORY, 'contracts/libraries', `${library}.txt`), 'utf8')
}

/** What breaks if all these are changed in the declarations of a library. */
function breaksOf(library: string, changes: readonly (readonly [was: string, now: string])[]): Promise<string[]> {
  const present = changes.reduce((text, [was, now]) => {
    expect(text).toContain(was)
    return text.replace(was, now)
  }, textOf(library))
  return libraryBreaks(REPOSITORY, textOf(library), present)
}

it('names every export that breaks programs, and what is wrong with it', async () => {
  const breaks = await breaksOf('handler', [
    ['export type { LogLine, WriteLog }', 'export type { WriteLog }'],
    ['readonly occurredAt: Date | null;', 'readonly occurredAt: string | null;'],
    ['readonly notAfter?: Date;', ''],
    ['before it is dead. Default: 12.', 'before it is dead. Default: 10.'],
    ['"pg":"^8.11.0"', '"pg":"^8.20.0"'],
    ['readonly payload: unknown;\n\t/** 1 for', 'readonly content: unknown;\n\t/** 1 for'],
    [
      'readonly name: string;\n\treadonly store',
      'readonly name: string;\n\treadonly region: string;\n\treadonly store',
    ],
  ])
  expect(breaks).toContain('- LogLine of index: it is no longer exported')
  expect(breaks).toContain('- HandlerEvent of index: its members have other types')
  expect(breaks).toContain('- LaterLimits.attempts: it was 12, and is 10')
  expect(breaks).toContain('- package.json needs pg: it was ^8.11.0, and is ^8.20.0')
  expect(breaks.join('\n')).toMatch(/- HandlerSecret of index: .*"notAfter"/)
  expect(breaks.join('\n')).toMatch(/- LaterMessage of index: .*"payload"/)
  expect(breaks.join('\n')).toMatch(/- createHandler of index: .*region/)
})

it('names what takes less than before, as a method or a constructor', async () => {
  const breaks = await breaksOf('handler', [
    ["readonly ['now', 'later', 'never']", "readonly ['now', 'never']"],
    ['fetch(request: Request): Promise<Response>;', 'fetch(request: Request & { ip: string }): Promise<Response>;'],
  ])
  expect(breaks.join('\n')).toMatch(/- Refusal of index: .*"later"/)
  expect(breaks.join('\n')).toMatch(/- createHandler of index: .*ip/)
})

it('raises no alarm for what is added', async () => {
  const breaks = await breaksOf('handler', [
    ['readonly rawBody: string;', 'readonly rawBody: string;\n\treadonly attempt: number;'],
    ['Default: 12.', '12 by default.'],
    ['"mongodb":"^7.0.0"', '"undici":"^7.0.0","mongodb":"^6.0.0 || ^7.0.0"'],
    ['readonly notAfter?: Date;', 'readonly notAfter?: Date | string;\n\treadonly label?: string;'],
    ['isReady(): Promise<boolean>;', 'isReady(): Promise<boolean>;\n\tpause?(): void;'],
    ['export interface HandlerDeps {', 'export declare const LATER: string;\nexport interface HandlerDeps {'],
  ])
  expect(breaks).toEqual([])
})
