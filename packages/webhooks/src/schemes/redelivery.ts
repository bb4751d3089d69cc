/** How long after the first delivery a provider redelivers an event, automatically or on request. */
export interface Redelivery {
  /** Whole hours, rounded up. */
  readonly hours: number
  /** The page that documents it, or `not documented`. */
  readonly source: string
}

/** Seven days, because nothing reliable is published. */
export const UNDOCUMENTED: Redelivery = { hours: 168, source: 'not documented' }
