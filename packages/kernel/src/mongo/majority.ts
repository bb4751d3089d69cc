/** What every raw write command of ours carries: `db.command` takes no write concern from the client. */
export const MAJORITY = { w: 'majority', j: true, wtimeout: 4_000 } as const
