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
  /** A variable of the environment, for what the options or the settings name. */
  readonly readEnv: (name: string) => string | undefined
  /** Writes to standard output, where `--json` puts its one document and nothing else. */
  readonly write: (text: string | Uint8Array) => void
  /** Writes to standard error. */
  readonly warn: (text: string) => void
  /** The folder in which `npm start` leaves word of what it started. */
  readonly dataFolder: string
  /** The token of an operator, from `ONCEHOOK_OPERATOR_TOKEN`. */
  readonly operatorToken: string | undefined
  /** Whether people read standard output, and not a file or another program. */
  readonly writesToTerminal: boolean
  /** The terminal behind standard error, for what moves; null where nobody watches. */
  readonly terminal: NodeJS.WritableStream | null
  /** Asks whoever sits in front of the terminal for a line; null where nobody does. */
  readonly ask: ((question: string) => Promise<string>) | null
  /** Calls back at Ctrl-C, in place of ending, until the returned function is called. */
  readonly onInterrupt: (listener: () => void) => () => void
}
