/** Whose turn it is. */
export interface LookupTurn {
  /** Whether the last lookup of the name took long. Then all others come first. */
  readonly wasSlow: boolean
  /** Called when the lookup begins. */
  readonly onBegin: () => void
}

/** Begins a lookup when it is its turn, and resolves to what it finds. */
export type TakeTurn = <T>(turn: LookupTurn, lookUp: () => Promise<T>) => Promise<T>

/** Creates turns: one lookup at a time. One that will take long, as far as anybody knows, comes after all others. */
export function createLookupTurns(): TakeTurn {
  const waiting: { readonly wasSlow: boolean; readonly begin: () => Promise<void> }[] = []
  let isTaken = false
  const beginNext = (): void => {
    const next = waiting.find(({ wasSlow }) => !wasSlow) ?? waiting[0]
    isTaken = next !== undefined
    if (next === undefined) return
    waiting.splice(waiting.indexOf(next), 1)
    void next.begin()
  }
  return ({ wasSlow, onBegin }, lookUp) =>
    new Promise((resolve, reject) => {
      const begin = async (): Promise<void> => {
        try {
          onBegin()
          resolve(await lookUp())
        } catch (error) {
          reject(error)
        } finally {
          beginNext()
        }
      }
      waiting.push({ wasSlow, begin })
      if (!isTaken) beginNext()
    })
}
