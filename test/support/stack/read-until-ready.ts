import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/**
 * Reads the lines that a command prints, up to the one that says it is ready, or all of them if none does. The output is
 * paused then.
 */
export async function readUntilReady(output: Readable): Promise<string[]> {
  const lines: string[] = []
  for await (const line of createInterface({ input: output })) {
    lines.push(line)
    if (line.startsWith('Ready')) break
  }
  return lines
}
