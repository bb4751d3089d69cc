/** What the commands take from the outside world; `main.ts` brings the real things. */
export interface CliContext {
  readonly fetch: typeof fetch
  /** Milliseconds since 1970, with fractions. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** From 0 to below 1. */
  readonly random: () => number
  /** Letters and digits that nobody has used before. */
  readonly randomId: () => string
  readonly readStdin: () => Promise<Buffer>
  /** Writes to standard output, where `--json` puts its one document and nothing else. */
  readonly write: (text: string) => void
  /** Writes to standard error. */
  readonly warn: (text: string) => void
  /** The folder in which `npm start` leaves word of what it started. */
  readonly dataFolder: string
}
