import { startMeter } from '../measure/meter.ts'
import { peakResidentMib } from '../measure/process-usage.ts'
import { type DriverWay, startDriver } from '../receivers/baselines/driver.ts'
import type { Trial } from '../trial.ts'

const WARM_UP_INSERTS = 12_000
const HEADROOM = 2

/** Measures what the database driver alone does: no HTTP, no signature. */
export function createDriverTrial({ name, title, way }: Pick<Trial, 'name' | 'title'> & { way: DriverWay }): Trial {
  return {
    name,
    title,
    async run({ setup, run, effort }) {
      await using driver = await startDriver(setup, run)
      await driver.prepare(WARM_UP_INSERTS)
      const warm = await driver.insert(way, effort.warmUpMs)
      const perMs = warm.acknowledged.length / (warm.endedAt - warm.beganAt)
      await driver.prepare(Math.ceil(perMs * effort.measureMs * HEADROOM))
      const meter = startMeter({ driver: driver.pid, mongod: setup.mongodPid, benchmark: process.pid })
      const { acknowledged, beganAt, endedAt, latency } = await driver.insert(way, effort.measureMs)
      const { processes, foreignShare } = meter()
      const kept = (await driver.keptOf(acknowledged)).size
      const warmLost = warm.acknowledged.length - (await driver.keptOf(warm.acknowledged)).size
      return {
        figures: {
          perSecond: kept / ((endedAt - beganAt) / 1_000),
          p50Ms: latency.p50,
          p99Ms: latency.p99,
          receiverUs: ((processes.driver ?? 0) * 1_000) / kept,
          mongodUs: ((processes.mongod ?? 0) * 1_000) / kept,
          peakMib: peakResidentMib(driver.pid),
        },
        lost: acknowledged.length - kept + warmLost,
        failed: {},
        foreignShare,
      }
    },
  }
}
