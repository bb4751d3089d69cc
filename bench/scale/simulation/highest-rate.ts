import type { Costs } from './derive-costs.ts'
import { type SystemSize, simulate } from './simulate.ts'

const HIGHEST = 10_000_000
const STEPS = 50

/** The highest rate at which no part of a system uses more than this share of its processors; 0 if idle ones do already. */
export function highestRate(costs: Costs, size: Omit<SystemSize, 'perSecond'>, mostBusy: number): number {
  let [low, high] = [0, HIGHEST]
  for (let step = 0; step < STEPS; step += 1) {
    const perSecond = (low + high) / 2
    const { use, busiest } = simulate(costs, { ...size, perSecond })
    if (use[busiest] <= mostBusy) low = perSecond
    else high = perSecond
  }
  return Math.floor(low)
}
