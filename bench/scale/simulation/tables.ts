import { markdownTable } from '../../report/tables.ts'
import type { WholeFigures } from '../whole/measure-whole.ts'
import { CHECKED, checkPoints } from './check-points.ts'
import type { Costs } from './derive-costs.ts'
import type { Line } from './fit-line.ts'
import { highestRate } from './highest-rate.ts'
import { type Simulated, type SystemSize, simulate } from './simulate.ts'

const SHARDS = [1, 4, 16, 32] as const
const GATEWAYS = [10, 50, 100, 200] as const
const RATES = [10_000, 50_000, 100_000] as const
const PRIMARY_CORES = 16
const MOST_BUSY = [0.7, 0.9] as const

const TITLES: Readonly<Record<(typeof CHECKED)[number], string>> = {
  commands: 'commands per event',
  gatewayUs: 'gateway µs',
  fulfilmentUs: 'fulfilment µs',
  mongodUs: 'MongoDB µs',
}

/** The costs that the simulation uses, as a table. */
export function costsTable(costs: Costs): string[] {
  const us = ({ base, slope }: Line): string => `${base.toFixed(0)} + ${slope.toFixed(0)}`
  return markdownTable([
    ['cost', 'value'],
    ['gateway, µs per event + per command or call that it sends', us(costs.gateway)],
    ['fulfilment, µs per event + per call', us(costs.fulfilment)],
    ['primary, µs per event + per command', us(costs.primary)],
    ['commands per batch, besides the insert', costs.commandsPerBatch.toFixed(1)],
    ['time in which events collect for one insert, ms (assumed)', costs.insertMs.toFixed(0)],
    ['time in which events collect for one call, ms (assumed)', costs.batchMs.toFixed(0)],
    ['idle gateway, µs per second', costs.idleGateway.toFixed(0)],
    ['primary, µs per second + per idle gateway', us(costs.idlePrimary)],
    ['commands of an idle gateway per second', costs.idleCommands.toFixed(2)],
    ['primary, µs per look for dead processes + per process that holds records', us(costs.look)],
  ])
}

/** The error of the simulation at each measured point with more than one gateway, as a table. */
export function checkTable(costs: Costs, points: readonly WholeFigures[]): string[] {
  const checked = checkPoints(costs, points).filter(({ gateways }) => gateways > 1)
  const cells = checked.map(({ gateways, perSecond, figures }) => [
    ...[gateways, perSecond].map(String),
    ...CHECKED.map((name) => {
      const { measured, simulated, error } = figures[name]
      const digits = name.endsWith('Us') ? 0 : 2
      return `${simulated.toFixed(digits)} for ${measured.toFixed(digits)} (${signed(error)})`
    }),
  ])
  return markdownTable([['gateways', 'events/s', ...CHECKED.map((name) => TITLES[name])], ...cells])
}

/** What the simulation says about large systems, as a table. The three figures of a cell are for the three rates. */
export function simulationTable(costs: Costs): string[] {
  const head = [
    ...['shards', 'gateways', 'events per insert', 'gateways, %', 'fulfilment, %', 'primaries, %', 'busiest'],
    ...['commands/s of a primary', 'of them idle', 'connections', 'events/s at 70 / 90 %'],
  ]
  const cells = SHARDS.flatMap((shards) =>
    GATEWAYS.map((gateways) => {
      const size = { gateways, workers: 1, fulfilments: gateways, shards, primaryCores: PRIMARY_CORES }
      return [String(shards), String(gateways), ...rowOf(costs, size)]
    }),
  )
  return markdownTable([head, ...cells])
}

function rowOf(costs: Costs, size: Omit<SystemSize, 'perSecond'>): string[] {
  const at = RATES.map((perSecond) => simulate(costs, { ...size, perSecond }))
  const each = (figure: (of: Simulated) => string): string => at.map(figure).join(' / ')
  const [first] = at
  return [
    each(({ insertGroup }) => insertGroup.toFixed(1)),
    each(({ use }) => percent(use.gateways)),
    each(({ use }) => percent(use.fulfilment)),
    each(({ use }) => percent(use.primaries)),
    each(({ busiest }) => busiest),
    each(({ commandsPerPrimary }) => rounded(commandsPerPrimary)),
    rounded(first?.idlePerPrimary ?? Number.NaN),
    rounded(first?.connections ?? Number.NaN),
    MOST_BUSY.map((share) => rounded(highestRate(costs, size, share))).join(' / '),
  ]
}

function signed(share: number): string {
  return `${share < 0 ? '−' : '+'}${percent(Math.abs(share))} %`
}

function percent(share: number): string {
  return (share * 100).toFixed(0)
}

/** With two digits that count, because the costs have no more. */
function rounded(figure: number): string {
  return Number(figure.toPrecision(2)).toLocaleString('en-US')
}
