import type { KeyRegister } from '@oncehook/kernel/mongo/key-register'
import type { Recording } from './composition/recording.ts'
import type { RotationSource } from './encryption/rotate-orders.ts'
import type { EraseDeps } from './erasures/erase-orders.ts'
import type { CreateDeps } from './orders/create-order.ts'
import type { ListDeps } from './orders/list-orders.ts'
import type { ApplyDeps } from './payments/apply-events.ts'

/** The dependencies of the procedures, created by the composition root. */
export interface UseCases {
  readonly orders: CreateDeps & ListDeps
  readonly payments: ApplyDeps
  /** Records the steps of the protocol, for tests. Default: nothing is recorded. */
  readonly recording?: Recording | undefined
  readonly erasures: EraseDeps
  readonly encryption: RotationSource & { readonly register: KeyRegister }
  /** Counts event outcomes and refusal codes. */
  readonly countResult: (verdict: string) => void
}
