import { markdownTable } from '../report/tables.ts'
import type { InFlightFigures, RepeatedCost } from './in-flight/measure-in-flight.ts'
import type { ClaimFigures } from './measure-claims.ts'
import type { IdleFigures } from './measure-idle.ts'
import type { WholeFigures } from './whole/measure-whole.ts'

const digits = (count: number) => (figure: number) => figure.toFixed(count)
const whole = digits(0)
const one = digits(1)
const two = digits(2)

/** What several processes did with one backlog, as a table. */
export function claimsTable(rows: readonly (ClaimFigures & { readonly processes: number })[]): string[] {
  const head = [
    'processes',
    'claims/s',
    'examined per claim',
    'wasted searches, %',
    'smallest share, %',
    'largest share, %',
  ]
  const cells = rows.map(({ processes, claimsPerSecond, examinedPerClaim, wastedPercent, shares }) => {
    return [String(processes), whole(claimsPerSecond), ...[examinedPerClaim, wastedPercent, ...shares].map(one)]
  })
  return markdownTable([head, ...cells])
}

/** What idle gateways cost, as a table. */
export function idleTable(rows: readonly IdleFigures[]): string[] {
  const head = ['idle gateways', 'commands/s', 'processor ms/s of all gateways', 'processor ms/s of MongoDB']
  const ms = (us: number): string => one(us / 1_000)
  const cells = rows.map(({ processes, commands, gatewayUs, mongodUs }) => {
    return [String(processes), one(commands), ms(gatewayUs), ms(mongodUs)]
  })
  return markdownTable([head, ...cells])
}

/** What the whole path cost, as a table. */
export function wholeTable(rows: readonly WholeFigures[]): string[] {
  const head = [
    ...['gateways', 'events/s', 'gateway µs', 'fulfilment µs', 'MongoDB µs', 'commands per event', 'events per insert'],
    ...['events per call', 'examined per event', 'lost claims', 'duplicates', 'connections'],
  ]
  const cells = rows.map((row) => [
    ...[row.gateways, row.perSecond, row.gatewayUs, row.fulfilmentUs, row.mongodUs].map(whole),
    ...[row.commands, row.insertGroup, row.callBatch, row.examined].map(two),
    ...[row.lostClaims, row.duplicates, row.connections].map(String),
  ])
  return markdownTable([head, ...cells])
}

const KINDS: Readonly<Record<RepeatedCost['kind'], string>> = {
  poll: 'poll for due events',
  holders: 'look for dead processes: who holds records',
  owners: 'look for dead processes: who is alive',
  heartbeat: 'heartbeat of a process',
}

/** What a gateway asks again and again while many records are in process, as a table. */
export function inFlightTable({ repeated }: Pick<InFlightFigures, 'repeated'>): string[] {
  const head = ['command', 'processes that hold records', 'keys', 'documents', 'MongoDB µs', 'median ms']
  const kinds = Object.keys(KINDS) as RepeatedCost['kind'][]
  const ordered = repeated.toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || a.owners - b.owners)
  const cells = ordered.map(({ kind, owners, keys, documents, mongodUs, medianMs }) => [
    KINDS[kind],
    ...[owners, keys, documents, mongodUs].map(whole),
    two(medianMs),
  ])
  return markdownTable([head, ...cells])
}
