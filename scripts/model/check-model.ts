import { runTlc, type TlcEnd, type TlcRun } from './run-tlc.ts'

/** What TLC found. `violated` is the name of an invariant, or `temporal` for a property of whole histories. */
export interface ModelResult {
  readonly violated: string | null
  /** The number of different states, or null if TLC does not say. */
  readonly states: number | null
  /** What TLC printed. */
  readonly output: string
}

/**
 * Checks a model.
 * @throws Error with the end of the output if TLC could not read or check it
 */
export async function checkModel(run: TlcRun): Promise<ModelResult> {
  return readResult(await runTlc(run))
}

function readResult({ code, output }: TlcEnd): ModelResult {
  const found = [...output.matchAll(/([\d,]+) distinct states found/g)].at(-1)?.[1]
  const states = found === undefined ? null : Number(found.replaceAll(',', ''))
  const [, invariant] = /^Error: Invariant (\w+) is violated/m.exec(output) ?? []
  if (invariant !== undefined) return { violated: invariant, states, output }
  if (output.includes('Error: Temporal properties were violated')) return { violated: 'temporal', states, output }
  if (code === 0 && output.includes('No error has been found')) return { violated: null, states, output }
  throw new Error(`TLC ended with ${code}:\n${output.slice(-4_000)}`)
}
