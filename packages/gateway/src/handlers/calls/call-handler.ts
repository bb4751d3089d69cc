import type { RetryClass } from '@oncehook/kernel/http/errors'
import type { TaskEvent } from '../events/task-event.ts'

/** A handler's answer for one task: done, or a refusal. */
export type TaskAnswer = { readonly done: true } | TaskRefusal

/** Why a task is not done, and when it is tried again. */
export interface TaskRefusal {
  readonly refused: string
  readonly retry: RetryClass
  /** A sentence without values of the sender. A handler may have added one. */
  readonly message: string
  /** How long the handler asks to wait, in milliseconds. */
  readonly afterMs?: number
  /** The handler, or what is in front of it, is unavailable or busy: this is not about the task. Default: no. */
  readonly isBusy?: true
  /** Present if the call with the task got no answer: whether it broke after it was sent, so that the task may be the cause. */
  readonly broke?: boolean | undefined
}

/**
 * Sends tasks to a handler and resolves to its answers, in their order.
 * @throws AppError if the handler could not be called. Then nothing is known about any of the tasks
 */
export type CallHandler = (tasks: readonly TaskEvent[]) => Promise<readonly TaskAnswer[]>
