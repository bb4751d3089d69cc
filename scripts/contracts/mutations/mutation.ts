/** A change of one text of the sources. */
export interface SourceChange {
  /** What is broken, as a sentence without a full stop. */
  readonly breaks: string
  readonly file: string
  /** A text that occurs once in the file, and its replacement. */
  readonly find: string
  readonly replace: string
}

/** A change of the sources that breaks a contract. A test must fail, and name the consumers that it breaks. */
export interface Mutation extends SourceChange {
  /** A text that the failure must contain. */
  readonly tells: string
  /** The file of the contract test that must fail. `only` selects some of its tests. */
  readonly test: string
  readonly only?: string
  /** The consumers that the failure must name. */
  readonly consumers: readonly string[]
}

/** What a mutation changes, and what its failure says. A list of mutations adds the rest. */
export type Change = Pick<Mutation, 'breaks' | 'tells' | 'file' | 'find' | 'replace'> & Partial<Mutation>

/**
 * Selects the tests without the released contracts. They repeat the same checks while nothing differs, and would double
 * the time.
 */
export const PRESENT = 'answers as (?!releases)'

/** Completes changes that one contract test must notice. A change can select some of its tests, or name other consumers. */
export function mutationsOf(
  noticedBy: Pick<Mutation, 'test' | 'only' | 'consumers'>,
  changes: readonly Change[],
): readonly Mutation[] {
  return changes.map((change) => ({ ...noticedBy, ...change }))
}

/**
 * Returns the source with the mutation.
 * @throws if the text to replace does not occur exactly once, because then the mutation is out of date
 */
export function mutate(source: string, { breaks, file, find, replace }: SourceChange): string {
  const times = source.split(find).length - 1
  if (times !== 1) throw new Error(`${file} holds ${times} times, not once, what is changed so that ${breaks}: ${find}`)
  return source.replace(find, () => replace)
}
