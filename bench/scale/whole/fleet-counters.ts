import type { Setup } from '../../receivers/receiver.ts'
import type { Fleet, Member } from './start-fleet.ts'

/** What a fleet has done so far. All are totals since the start of a process. */
export interface FleetCounters {
  /** Commands on data, by name, of all clients of the server. */
  readonly commands: Readonly<Record<string, number>>
  /** Documents that were inserted. */
  readonly inserted: number
  /** Documents that the server examined. */
  readonly examined: number
  /** Calls that gateways made to apply events. */
  readonly calls: number
  readonly lostClaims: number
  /** Events that fulfilment was asked to apply again. */
  readonly duplicates: number
}

const COMMANDS = ['insert', 'update', 'find', 'aggregate', 'findAndModify', 'getMore', 'delete', 'count', 'distinct']

/** Reads the counters of the server and of all processes. */
export async function readFleetCounters(setup: Setup, fleet: Fleet): Promise<FleetCounters> {
  const { metrics, opcounters } = await setup.database('admin').command({ serverStatus: 1 })
  return {
    commands: Object.fromEntries(COMMANDS.map((name) => [name, Number(metrics.commands[name]?.total ?? 0)])),
    inserted: Number(opcounters.insert),
    examined: Number(metrics.queryExecutor.scannedObjects),
    calls: await sumOf(fleet.fulfilments, /^oncehook_call_seconds_count\{[^}]*procedure="payments\.applyEvents"/),
    lostClaims: await sumOf(fleet.gateways, /^oncehook_claims_lost_total/),
    duplicates: await sumOf(fleet.fulfilments, /^oncehook_events_applied_total\{[^}]*verdict="duplicate"/),
  }
}

async function sumOf(members: readonly Member[], series: RegExp): Promise<number> {
  const texts = await Promise.all(members.map(async ({ metricsUrl }) => (await fetch(metricsUrl)).text()))
  return texts.reduce((sum, text) => sum + sumSeries(text, series), 0)
}

/** The sum of all series of a text of metrics whose line matches. */
export function sumSeries(text: string, series: RegExp): number {
  const lines = text.split('\n').filter((line) => series.test(line))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}
