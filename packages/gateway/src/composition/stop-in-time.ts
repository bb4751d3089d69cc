import { within } from '@oncehook/kernel/within'

const LAST_WRITE_MS = 800

/** Stops what writes statistics. Where a database that is away keeps it waiting, the stop goes on: it is orderly without. */
export async function stopInTime(writer: { stop(): Promise<void> }): Promise<void> {
  await within(writer.stop(), LAST_WRITE_MS)
}
