import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'

/** A call that changes something, and what to do after it. */
interface SingleAction<Input, Answer> {
  readonly act: (input: Input) => Promise<Answer>
  readonly onDone: (answer: Answer) => void
}

/**
 * A call that is made only once: after the first `start`, further ones do nothing unless the call has failed. This
 * takes effect at once, not with the next render, so that two quick clicks make one call.
 */
export function useSingleAction<Input, Answer>({ act, onDone }: SingleAction<Input, Answer>) {
  const isStarted = useRef(false)
  const acting = useMutation({
    mutationFn: act,
    onSuccess: onDone,
    onError: () => {
      isStarted.current = false
    },
  })
  const start = (input: Input): void => {
    if (isStarted.current) return
    isStarted.current = true
    acting.mutate(input)
  }
  return { start, isBusy: acting.isPending, error: acting.error }
}
