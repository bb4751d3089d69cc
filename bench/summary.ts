import { ratioOf, type Spread, spreadOf } from './measure/statistics.ts'
import type { Measurement } from './measure-row.ts'
import { ROWS, type RowName } from './rows.ts'

/** What a row came to over the rounds that count. */
export interface RowSummary {
  readonly row: RowName
  readonly acceptsPerSecond: Spread
  /** Processor time for each accept, microseconds. */
  readonly receiverUs: Spread
  readonly fulfilmentUs: Spread | null
  readonly mongodUs: Spread
  readonly residentMib: Spread
  readonly p50Ms: Spread
  readonly p99Ms: Spread
  /** Ratios to the naive row of the same round. */
  readonly against: { readonly acceptsPerSecond: Spread; readonly mongodUs: Spread }
}

/** Sums up rounds (at least one), row by row. */
export function summarize(rounds: readonly (readonly Measurement[])[]): RowSummary[] {
  const all = rounds.flat()
  const naive = all.filter(({ row }) => row === 'naive')
  return ROWS.map(({ name }) =>
    summarizeRow(
      all.filter(({ row }) => row === name),
      naive,
    ),
  )
}

function summarizeRow(own: readonly Measurement[], naive: readonly Measurement[]): RowSummary {
  const rate = ({ acceptsPerSecond }: Measurement): number => acceptsPerSecond
  const mongod = ({ processorUs }: Measurement): number => processorUs.mongod
  const spread = (figure: (measurement: Measurement) => number): Spread => spreadOf(own.map(figure))
  const fulfilment = own.map(({ processorUs }) => processorUs.fulfilment).filter((us) => us !== null)
  return {
    row: own[0]?.row ?? 'naive',
    acceptsPerSecond: spread(rate),
    receiverUs: spread(({ processorUs }) => processorUs.receiver),
    fulfilmentUs: fulfilment.length === 0 ? null : spreadOf(fulfilment),
    mongodUs: spread(mongod),
    residentMib: spread(({ residentMib }) => residentMib),
    p50Ms: spread(({ latency }) => latency.p50),
    p99Ms: spread(({ latency }) => latency.p99),
    against: {
      acceptsPerSecond: ratioOf(own.map(rate), naive.map(rate)),
      mongodUs: ratioOf(own.map(mongod), naive.map(mongod)),
    },
  }
}
