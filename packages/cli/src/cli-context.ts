/** The external dependencies of the commands. `main.ts` provides the real ones. */
export interface CliContext {
  readonly fetch: typeof fetch
  /** Milliseconds since 1970, with fractions. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
  /** From 0 to below 1. */
  readonly random: () => number
  /** A new random id of letters and digits. */
  readonly randomId: () => string
  readonly readStdin: () => Promise<Buffer>
  /** Reads an environment variable named by an option or a setting. */
  readonly readEnv: (name: string) => string | undefined
  /** Writes to standard output. With `--json`, a command writes one document and nothing else. */
  readonly write: (text: string | Uint8Array) => void
  /** Writes to standard error. */
  readonly warn: (text: string) => void
  /** The folder in which `npm start` describes the running system. */
  readonly dataFolder: string
  /** The token of an operator, from `ONCEHOOK_OPERATOR_TOKEN`. */
  readonly operatorToken: string | undefined
  /** Whether standard output is a terminal. */
  readonly writesToTerminal: boolean
  /** The terminal behind standard error, for progress bars; null without a terminal. */
  readonly terminal: NodeJS.WritableStream | null
  /** Asks the user for a line; null without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | null
  /** Calls the listener on Ctrl-C, instead of exiting, until the returned function is called. */
  readonly onInterrupt: (listener: () => void) => () => void
}
