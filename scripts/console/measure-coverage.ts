import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import convert from 'ast-v8-to-istanbul'
import { parseAst } from 'rolldown/parseAst'
import { z } from 'zod'
import { type CountedRange, mergeRanges } from './merge-ranges.ts'

/** Chromium's counts for one script during one visit. */
export interface VisitedScript {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly CountedRange[] }[]
}

/** How much of a source ran. */
export interface SourceCoverage {
  readonly path: string
  readonly lines: Share
  readonly branches: Share
}

/** A part of a whole. */
export interface Share {
  readonly covered: number
  readonly total: number
}

const sourceMap = z.looseObject({
  ...{ version: z.number(), names: z.array(z.string()), mappings: z.string() },
  ...{ sources: z.array(z.string().nullable()), sourcesContent: z.array(z.string().nullable()) },
})

const HINT = /\b(?:istanbul|[cv]8|node:coverage)(?=\s+ignore\b)/g

/**
 * Measures how much of each source of a built script ran in any of the visits. The source map is next to the script.
 */
export async function measureCoverage(file: string, visits: readonly VisitedScript[]): Promise<SourceCoverage[]> {
  // A library may ask to be excluded. That would exclude the whole script, so such hints are overwritten.
  const code = (await readFile(file, 'utf8')).replaceAll(HINT, (hint) => '-'.repeat(hint.length))
  const runs = visits
    .filter(({ url }) => basename(url) === basename(file))
    .map(({ functions }) => functions.flatMap(({ ranges }) => ranges))
  const merged = { functionName: '', isBlockCoverage: true, ranges: mergeRanges(code.length, runs) }
  const map = await convert({
    ...{ code, ast: parseAst(code) },
    sourceMap: sourceMap.parse(JSON.parse(await readFile(`${file}.map`, 'utf8'))),
    coverage: { url: pathToFileURL(file).href, functions: [merged] },
  })
  return Object.values(map).map(({ path, statementMap, s, b }) => {
    const lines = new Map<number, number>()
    for (const [id, { start }] of Object.entries(statementMap)) {
      lines.set(start.line, Math.max(lines.get(start.line) ?? 0, s[id] ?? 0))
    }
    return { path, lines: shareOf([...lines.values()]), branches: shareOf(Object.values(b).flat()) }
  })
}

function shareOf(counts: readonly number[]): Share {
  return { covered: counts.filter((count) => count > 0).length, total: counts.length }
}

/** Reads visits from JSON files in a folder. */
export async function readVisits(folder: string, names: readonly string[]): Promise<VisitedScript[]> {
  const range = z.object({ startOffset: z.number(), endOffset: z.number(), count: z.number() })
  const visit = z.array(z.object({ url: z.string(), functions: z.array(z.object({ ranges: z.array(range) })) }))
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
  return texts.flatMap((text) => visit.parse(JSON.parse(text)))
}
