/** A source file that a delivery enters, and the files of the functions that wait for this call, the nearest first. */
export interface Entry {
  readonly file: string
  readonly callers: readonly string[]
}

/** What a reader does who follows a delivery through some files and reads each of them once. */
export interface Walk {
  /** The files in the order in which the reader opens them. */
  readonly files: readonly string[]
  /** How often the reader goes from one file to another. */
  readonly moves: number
  /** How many of these moves lead back to a file already read. */
  readonly returns: number
}

/**
 * Follows the entries of a delivery through the files of `way`; it ignores others. At the end of a file, the reader goes back
 * to the file that called it, and so on, up to the one that calls the next.
 */
export function countWalk(entries: readonly Entry[], way: ReadonlySet<string>): Walk {
  const files: string[] = []
  /** The files that wait for the end of the current one, and this one. */
  let open: string[] = []
  let returns = 0
  for (const { file, callers } of entries.filter((entry) => way.has(entry.file))) {
    const caller = open.findLastIndex((one) => callers.includes(one))
    returns += Math.max(0, open.length - 1 - caller)
    open = [...open.slice(0, caller + 1), file]
    files.push(file)
  }
  return { files, returns, moves: Math.max(0, files.length - 1) + returns }
}
