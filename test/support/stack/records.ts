import type { Binary } from 'mongodb'

/** An order as `/api/orders` shows it. It is repeated here so that these tests notice changes. */
export interface ApiOrder {
  readonly id: string
  readonly version: number
  readonly status: 'pending' | 'payment_failed' | 'paid'
  readonly access: 'locked' | 'unlocked'
  readonly amountDue: number
  readonly currency: string
  readonly customerId: string
  readonly email?: string
  readonly payment: {
    readonly id: string
    readonly provider: string
    readonly status: string
    readonly at: string
  } | null
}

/** A record of the gateway's collection `events`, as far as it is promised. */
export interface EventRecord {
  readonly provider: string
  readonly eventId: string
  readonly type: string
  /** The handler of the task. Empty: nobody. */
  readonly handler: string
  readonly state: 'pending' | 'processing' | 'done' | 'unhandled' | 'dead' | 'closed'
  readonly reason: string | null
  readonly raw: Binary
  readonly starts: number
  readonly deliveries: number
  readonly mismatches: number
  readonly attempts: readonly { readonly outcome: string; readonly code: string | null }[]
  readonly dueAt?: Date
  /** The name of the claim under which it is processed. */
  readonly claim?: string
  readonly replays?: readonly Replay[]
  /** How often a repeated delivery has revived it. Absent means never. */
  readonly again?: { readonly revivals?: number }
}

/** A replay of an event, as its record shows it. */
export interface Replay {
  readonly by: string
  readonly reason: string
}

/** An entry of the gateway's collection `audit`, as far as it is promised. */
export interface AuditEntry {
  readonly by: string
  readonly action: string
  readonly reason: string | null
  readonly details?: Readonly<Record<string, unknown>>
}

interface MarkerRecord {
  readonly provider: string
  readonly eventId: string
  readonly outcome: string
}

/** A document of fulfilment's collection `orders`: one unit of change. */
export interface OrderRecord {
  readonly _id: string
  readonly version: number
  readonly status: string
  readonly access: 'locked' | 'unlocked'
  readonly payment: { readonly id: string; readonly provider: string } | null
  readonly applied: readonly MarkerRecord[]
  readonly paidBy?: readonly { readonly marker: MarkerRecord }[]
  readonly receipts: readonly { readonly key: string; readonly paymentId: string; readonly state: string }[]
}

/** A line of the file that receipts go to. */
export interface ReceiptLine {
  readonly key: string
  readonly orderId: string
  readonly paymentId: string
}
