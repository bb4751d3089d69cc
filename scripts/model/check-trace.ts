import { join } from 'node:path'
import { checkModel } from './check-model.ts'

/** A recording in the words of the model. */
export interface Trace {
  /** The module `Recorded`, which `docs/model/trace/OncehookTrace.tla` extends. */
  readonly module: string
  /** For each payment its lines, to say which of them the model does not explain. */
  readonly payments: readonly (readonly string[])[]
}

/** A recording, and what it is compared with. */
export interface TraceRun {
  /** The archive of TLC. */
  readonly jar: string
  /** The folder of the model. */
  readonly folder: string
  readonly trace: Trace
}

/**
 * Compares a recording with the model. Resolves to what the model does not explain, one text for each payment: the line at
 * which every history of the model ends, and the lines before it. An invariant that breaks on the way is one more text.
 * @throws Error with the end of the output if TLC could not compare them
 */
export async function checkTrace({ jar, folder, trace }: TraceRun): Promise<string[]> {
  const { violated, output } = await checkModel({
    ...{ jar, workers: 1, texts: { Recorded: trace.module }, config: join(folder, 'trace/trace.cfg') },
    modules: [join(folder, 'trace/OncehookTrace.tla'), join(folder, 'Oncehook.tla')],
  })
  if (violated !== null) return [`${violated} is broken:\n${output.slice(-8_000)}`]
  const reached = new Map<number, number>()
  for (const [, payment, at] of output.matchAll(/<<"reached", (\d+), (\d+)>>/g))
    reached.set(Number(payment), Number(at))
  return trace.payments.flatMap((lines, index) => {
    const at = reached.get(index + 1) ?? 1
    if (at > lines.length) return []
    const before = lines.slice(0, at - 1).map((line) => `  ${line}`)
    return [`The model does not explain: ${lines[at - 1]}\nafter\n${before.join('\n')}`]
  })
}
