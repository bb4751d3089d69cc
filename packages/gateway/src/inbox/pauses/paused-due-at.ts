import { hash } from 'node:crypto'

const FIRST_MS = Date.UTC(7000, 0, 1)
// 46 bits of milliseconds are 2,230 years: all years have four digits, which every driver can read.
const BITS = 46

/** The earliest due time that marks an event of a paused provider. No retry is ever due that late. */
export const FIRST_PAUSED_DUE_AT = new Date(FIRST_MS)

/**
 * The due time of the events that wait while their provider is paused. Each provider has its own, so that one range of
 * the index of due events holds all of them, and the search skips it. Once the provider is resumed, the search
 * takes that range as due: nothing has to be written for it.
 */
export function pausedDueAt(provider: string): Date {
  const digest = hash('sha256', provider, 'buffer').readBigUInt64BE()
  return new Date(FIRST_MS + Number(BigInt.asUintN(BITS, digest)))
}
