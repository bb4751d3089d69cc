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
  /** How many of these moves lead back to a file already read, because it calls the next one. */
  readonly returns: number
}

/** Follows the entries of a delivery through the files of `way`. It ignores other files. */
export function countWalk(entries: readonly Entry[], way: ReadonlySet<string>): Walk {
  const files: string[] = []
  let returns = 0
  for (const { file, callers } of entries.filter((entry) => way.has(entry.file))) {
    const caller = callers.find((one) => one !== file && files.includes(one))
    if (caller !== undefined && caller !== files.at(-1)) returns += 1
    files.push(file)
  }
  return { files, returns, moves: Math.max(0, files.length - 1) + returns }
}
