/** A call of a procedure, as a contract records it. */
export interface RecordedCall {
  readonly does: string
  readonly procedure: string
  readonly kind: string
  readonly input: unknown
  readonly status: number
  /** The content of the answer: the data, or why the call is refused. */
  readonly data?: unknown
  readonly refusal?: { readonly reason: string; readonly httpStatus: number; readonly retry: string }
}

/** The calls that one consumer relies on. */
export interface RecordedCalls {
  readonly consumer: string
  readonly calls: readonly RecordedCall[]
}

interface PactOfCalls {
  readonly consumer: { readonly name: string }
  readonly interactions: readonly {
    readonly description: string
    readonly request: {
      readonly method: string
      readonly path: string
      readonly query?: unknown
      readonly body?: unknown
    }
    readonly response: {
      readonly status: number
      readonly body: { readonly result?: { data: unknown }; readonly error?: { data: RecordedCall['refusal'] } }
    }
  }[]
}

/** Reads the calls from a pact with fulfilment. */
export function readRecordedCalls(pact: unknown): RecordedCalls {
  const { consumer, interactions } = pact as PactOfCalls
  return {
    consumer: consumer.name,
    calls: interactions.map(({ description, request, response: { status, body } }) => ({
      does: description,
      procedure: request.path.replace(/^\/trpc\//, ''),
      kind: request.method === 'GET' ? 'query' : 'mutation',
      input: request.method === 'GET' ? JSON.parse(inputOf(request.query)) : request.body,
      status,
      ...(body.result === undefined ? {} : { data: body.result.data }),
      ...(body.error?.data === undefined ? {} : { refusal: body.error.data }),
    })),
  }
}

/** A query is an object of lists, or a string. */
function inputOf(query: unknown): string {
  const search = typeof query === 'string' ? query : new URLSearchParams(flat(query)).toString()
  return new URLSearchParams(search).get('input') ?? '{}'
}

function flat(query: unknown): [string, string][] {
  return Object.entries((query ?? {}) as Record<string, string[]>).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  )
}
