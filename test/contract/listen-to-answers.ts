import { forwardRequests } from './forward-requests.ts'

/** What a procedure answered when it succeeded. */
export interface HeardAnswer {
  readonly procedure: string
  readonly data: unknown
}

/** A server in front of fulfilment. It forwards every request, and keeps the answers of the procedures. */
export interface Listened extends AsyncDisposable {
  readonly url: string
  readonly answers: readonly HeardAnswer[]
}

/** Listens to all that fulfilment answers: Pact compares only what the consumer has written down. */
export async function listenToAnswers(target: string): Promise<Listened> {
  const answers: HeardAnswer[] = []
  const forwarder = await forwardRequests(
    () => target,
    ({ path, isOk, text }) => {
      if (!isOk) return
      const procedure = path.replace('/trpc/', '').split('?', 1)[0] ?? ''
      answers.push({ procedure, data: (JSON.parse(text) as { result: { data: unknown } }).result.data })
    },
  )
  return { ...forwarder, answers }
}
