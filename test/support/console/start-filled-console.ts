import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { type ConsoleUnderTest, startConsole } from './open-console.ts'

const DAY_MS = 86_400_000

/** Starts the same as `startConsole`, with events `evt_0`, `evt_1`, …, received yesterday, one second apart. */
export async function startFilledConsole(
  count: number,
  settings?: Readonly<Record<string, string>>,
): Promise<ConsoleUnderTest> {
  const yesterday = Date.now() - DAY_MS
  const records = Array.from({ length: count }, (_, index) =>
    sampleRecord({ eventId: `evt_${index}`, receivedAt: new Date(yesterday + index * 1_000) }),
  )
  const started = await startConsole(settings)
  await started.system.events.insertMany(records)
  return started
}
