/** Write concern of every raw write command, because `db.command` does not use the client's. */
export const MAJORITY = { w: 'majority', j: true, wtimeout: 4_000 } as const
