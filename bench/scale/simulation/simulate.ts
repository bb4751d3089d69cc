import type { Costs } from './derive-costs.ts'
import { at } from './fit-line.ts'
import { groupSize, shardsReached } from './group-size.ts'

/** A system that is in a steady state: nothing waits in a backlog. */
export interface SystemSize {
  /** Machines with a gateway, and the processes of each (`WORKERS`). */
  readonly gateways: number
  readonly workers: number
  readonly fulfilments: number
  readonly shards: number
  /** The cores of the machine of each primary. */
  readonly primaryCores: number
  /** Deliveries per second, for all gateways together. All report new events, which pay an order. */
  readonly perSecond: number
}

/** The parts that can be too busy. */
type Part = 'gateways' | 'fulfilment' | 'primaries'

/** How a system of this size behaves. */
export interface Simulated {
  /** Deliveries that share an insert command, and events that share a call to fulfilment. */
  readonly insertGroup: number
  readonly callBatch: number
  /** Processor time for each event in microseconds, including what idle processes use. */
  readonly gatewayUs: number
  readonly fulfilmentUs: number
  readonly primaryUs: number
  /** Commands for each event, counted on the shards. */
  readonly commandsPerEvent: number
  /** The share of its processors that each part uses. More than 1 cannot be carried. */
  readonly use: Readonly<Record<Part, number>>
  readonly busiest: Part
  /** The most connections that all processes open to one server. */
  readonly connections: number
  /** Commands per second on each primary, and those of them that come even without events. */
  readonly commandsPerPrimary: number
  readonly idlePerPrimary: number
}

/** How many deliveries share an insert command, and how many events a call to fulfilment. */
export type Groups = Pick<Simulated, 'insertGroup' | 'callBatch'>

/** The most events in a group or a batch. */
const MOST_TOGETHER = 500
/** The pools of a gateway (12) and of fulfilment (20), and two connections that monitor the server for each of two pools. */
const CONNECTIONS = { gateway: 16, fulfilment: 24 }
/** Looks for dead processes: each sixth of the default lease. */
const LOOKS_PER_SECOND = 0.2
const PER_SECOND_US = 1_000_000
const STEPS = 40

/**
 * Computes the steady state from the costs. `docs/scaling.md` lists the assumptions. Where processors are busy, events
 * wait longer and collect in larger groups, which cost less: the waits are 1 / (1 - use of the busiest part) times as
 * long. The use for which both agree is found by halving.
 */
export function simulate(costs: Costs, size: SystemSize): Simulated {
  const whenUsed = (use: number): Simulated => simulateGroups(costs, size, groupsOf(costs, size, 1 / (1 - use)))
  let [low, high] = [0, 1]
  for (let step = 0; step < STEPS; step += 1) {
    const middle = (low + high) / 2
    const { use, busiest } = whenUsed(middle)
    if (use[busiest] > middle) low = middle
    else high = middle
  }
  return whenUsed(low)
}

/** Computes what a system costs if its groups and batches have these sizes. */
export function simulateGroups(costs: Costs, size: SystemSize, { insertGroup, callBatch }: Groups): Simulated {
  const { fulfilments, shards, perSecond } = size
  const processes = processesOf(size)
  // mongos sends each shard its part of a command.
  const inserts = shardsReached(insertGroup, shards) / insertGroup
  const commandsPerEvent = inserts + (costs.commandsPerBatch * shardsReached(callBatch, shards)) / callBatch
  const gatewayUs = at(costs.gateway, 1 / insertGroup + 1 / callBatch) + (processes * costs.idleGateway) / perSecond
  const fulfilmentUs = at(costs.fulfilment, 1 / callBatch)
  const primaryUs = at(costs.primary, commandsPerEvent) + (shards * idlePrimary(costs, processes)) / perSecond
  const use = {
    gateways: (perSecond * gatewayUs) / PER_SECOND_US / processes,
    fulfilment: (perSecond * fulfilmentUs) / PER_SECOND_US / fulfilments,
    primaries: (perSecond * primaryUs) / PER_SECOND_US / (shards * size.primaryCores),
  }
  const idlePerPrimary = processes * costs.idleCommands
  return {
    ...{ insertGroup, callBatch, gatewayUs, fulfilmentUs, primaryUs, commandsPerEvent, use },
    busiest: busiestOf(use),
    connections: processes * CONNECTIONS.gateway + fulfilments * CONNECTIONS.fulfilment,
    commandsPerPrimary: (perSecond * commandsPerEvent) / shards + idlePerPrimary,
    idlePerPrimary,
  }
}

/**
 * Processor time of a primary for each second, without what it does for events, in microseconds. It has records of every
 * process, and each of them looks for dead ones.
 */
export function idlePrimary(costs: Pick<Costs, 'idlePrimary' | 'look'>, processes: number): number {
  return at(costs.idlePrimary, processes) + processes * LOOKS_PER_SECOND * at(costs.look, processes)
}

function processesOf({ gateways, workers }: SystemSize): number {
  return gateways * workers
}

/** How many events come together if the waits are `stretch` times as long as usual. A batch has the events of one group. */
function groupsOf({ insertMs, batchMs }: Costs, size: SystemSize, stretch: number): Groups {
  const perMs = size.perSecond / processesOf(size) / 1_000
  const during = (ms: number): number => Math.min(MOST_TOGETHER, groupSize(perMs * ms * stretch))
  const insertGroup = during(insertMs)
  return { insertGroup, callBatch: Math.max(insertGroup, during(batchMs)) }
}

function busiestOf(use: Simulated['use']): Part {
  const parts: readonly Part[] = ['gateways', 'fulfilment', 'primaries']
  return parts.reduce((busiest, part) => (use[part] > use[busiest] ? part : busiest), 'gateways')
}
