/** For how long after the first delivery a provider delivers the same event again, by itself or by hand. */
export interface Redelivery {
  /** Whole hours, rounded up. */
  readonly hours: number
  /** The page that says so, or that nothing is documented. */
  readonly source: string
}

/** Nothing reliable is published: seven days. */
export const UNDOCUMENTED: Redelivery = { hours: 168, source: 'not documented' }
