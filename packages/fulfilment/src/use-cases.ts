import type { KeyRegister } from '@oncehook/kernel/mongo/key-register'
import type { RotationSource } from './encryption/rotate-orders.ts'
import type { EraseDeps } from './erasures/erase-orders.ts'
import type { CreateDeps } from './orders/create-order.ts'
import type { ApplyDeps } from './payments/apply-events.ts'

/** What the procedures work with; the composition root joins it. */
export interface UseCases {
  readonly orders: CreateDeps
  readonly payments: ApplyDeps
  readonly erasures: EraseDeps
  readonly encryption: RotationSource & { readonly register: KeyRegister }
  /** Counts what events did, by outcome or code of refusal. */
  readonly countVerdict: (verdict: string) => void
}
