import type { Costs } from './derive-costs.ts'

/** Costs for tests, in round numbers. */
export const SAMPLE_COSTS: Costs = {
  gateway: { base: 80, slope: 200 },
  fulfilment: { base: 60, slope: 300 },
  primary: { base: 200, slope: 50 },
  commandsPerBatch: 5,
  insertMs: 3,
  batchMs: 5,
  idleGateway: 4_000,
  idlePrimary: { base: 8_000, slope: 300 },
  idleCommands: 1,
  look: { base: 200, slope: 2 },
}
