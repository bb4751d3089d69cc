import type { Change } from './diff-descriptions.ts'

/** What one provider changed. */
export interface ProviderChanges {
  readonly provider: string
  readonly changes: readonly Change[]
}

const KINDS = ['added', 'changed', 'removed'] as const
const MOST_NAMES = 6
const MOST_BREAKS = 10

/**
 * Says in a few lines what changed since a release: the counts, the first names of each kind, and each change that breaks
 * callers, at most ten of these. `npm run contracts:diff` has them all.
 */
export function sayBriefly(version: string, all: readonly ProviderChanges[]): string[] {
  const lines = linesOf(all)
  const counts = KINDS.map((kind) => `${lines.filter((line) => line.kind === kind).length} ${kind}`)
  const breaking = lines.flatMap(breaksOf)
  const verdict =
    breaking.length === 0
      ? 'none breaks callers'
      : `${breaking.length} ${breaking.length === 1 ? 'breaks' : 'break'} callers`
  const named = KINDS.flatMap((kind) => {
    // Whole procedures and codes say more than their parts.
    const names = lines.filter((line) => line.kind === kind).map(({ what }) => what)
    names.sort((one, other) => Number(one.includes(', ')) - Number(other.includes(', ')))
    return names.length === 0 ? [] : [`  ${kind}: ${shortened(names, MOST_NAMES).join('; ')}`]
  })
  const broken = shortened(breaking, MOST_BREAKS).map((line) => `  breaks callers: ${line}`)
  return [`Procedures since ${version}: ${counts.join(', ')}; ${verdict}`, ...named, ...broken]
}

/** Says everything that changed, one line each. */
export function sayInFull(version: string, all: readonly ProviderChanges[]): string[] {
  const [summary = ''] = sayBriefly(version, all)
  const lines = linesOf(all).map(({ kind, what, rules = [], breaks }) => {
    const verdict = breaks.length === 0 ? '' : ', breaks callers'
    const details = breaks.length === 0 ? rules : breaks
    return `  ${kind}${verdict}: ${what}${details.length === 0 ? '' : `: ${details.join('; ')}`}`
  })
  return [summary, ...lines]
}

function linesOf(all: readonly ProviderChanges[]): Change[] {
  return all.flatMap(({ provider, changes }) =>
    changes.map((change) => ({ ...change, what: `${provider} ${change.what}` })),
  )
}

function breaksOf({ what, breaks }: Change): string[] {
  return breaks.length === 0 ? [] : [`${what}: ${breaks.join('; ')}`]
}

function shortened(names: readonly string[], most: number): string[] {
  return names.length <= most ? [...names] : [...names.slice(0, most), `and ${names.length - most} more`]
}
