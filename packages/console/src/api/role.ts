/** A right of an operator's token: to read, to change something, to see bodies. */
export type Role = 'read' | 'operate' | 'bodies'
