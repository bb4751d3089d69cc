import type { MessageCounts } from './store.ts'

export type EventResult =
  | 'done'
  | 'repeated'
  | 'unhandled'
  | 'refused'
  | 'conflict'
  | 'busy'
  | 'overloaded'
  | 'timed_out'
  | 'unavailable'
  | 'failed'

/** What became of an attempt to send a message of `tx.later`. */
type MessageResult = 'sent' | 'failed' | 'dead'

/** What is read when the metrics are written. `messages` is null if the database does not answer. */
interface CurrentState {
  readonly inFlight: number
  readonly messages: MessageCounts | null
}

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Counts what a handler does, and writes it in the text format of Prometheus. */
export type HandlerMetrics = ReturnType<typeof createMetrics>

/**
 * Creates the metrics of one handler. Own code, because a client library would be the only dependency that every user has to
 * install for a dozen lines.
 */
export function createMetrics(handler: string) {
  const events = new Map<string, number>()
  const rejected = new Map<string, number>()
  const messages = new Map<string, number>()
  const buckets = BUCKETS.map(() => 0)
  let [count, sum] = [0, 0]
  const label = (labels: Readonly<Record<string, string>>): string => labelsOf({ handler, ...labels })
  return {
    countEvent(result: EventResult, seconds: number): void {
      increase(events, label({ result }))
      count += 1
      sum += seconds
      BUCKETS.forEach((le, index) => {
        if (seconds <= le) buckets[index] = (buckets[index] ?? 0) + 1
      })
    },
    /** A delivery that was not an authentic event, by the status of its answer. */
    countRejected: (status: number): void => increase(rejected, label({ status: String(status) })),
    countMessage: (name: string, result: MessageResult): void => increase(messages, label({ name, result })),
    write({ inFlight, messages: stored }: CurrentState): string {
      const durations = [
        ...BUCKETS.map((le, index) => `_bucket${label({ le: String(le) })} ${buckets[index]}`),
        ...[`_bucket${label({ le: '+Inf' })} ${count}`, `_sum${label({})} ${sum}`, `_count${label({})} ${count}`],
      ]
      return [
        ...family('events_total counter', 'Authentic events, by result', samplesOf(events)),
        ...family('rejected_total counter', 'Deliveries that are no authentic event, by status', samplesOf(rejected)),
        ...family('event_seconds histogram', 'Time from an authentic event to its answer', durations),
        ...family('in_flight gauge', 'Events whose function runs now', [`${label({})} ${inFlight}`]),
        ...family('messages_total counter', 'Attempts to send a message, by result', samplesOf(messages)),
        ...(stored === null ? [] : storedFamilies(stored, label({}))),
        '',
      ].join('\n')
    },
  }
}

function storedFamilies({ waiting, dead, oldestSeconds }: MessageCounts, labels: string): readonly string[] {
  return [
    ...family('messages_waiting gauge', 'Messages that wait to be sent', [`${labels} ${waiting}`]),
    ...family('messages_dead gauge', 'Messages that failed permanently', [`${labels} ${dead}`]),
    ...family('messages_oldest_seconds gauge', 'Age of the oldest waiting message', [`${labels} ${oldestSeconds}`]),
  ]
}

/** The lines of a metric. `named` is its name and its type. */
function family(named: string, help: string, samples: readonly string[]): readonly string[] {
  const [name = '', type = ''] = named.split(' ')
  const whole = `oncehook_handler_${name}`
  return [`# HELP ${whole} ${help}`, `# TYPE ${whole} ${type}`, ...samples.map((sample) => `${whole}${sample}`)]
}

function samplesOf(counts: ReadonlyMap<string, number>): readonly string[] {
  return Array.from(counts, ([labels, count]) => `${labels} ${count}`)
}

function increase(counts: Map<string, number>, labels: string): void {
  counts.set(labels, (counts.get(labels) ?? 0) + 1)
}

function labelsOf(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
    return `${name}="${escaped}"`
  })
  return `{${pairs.join(',')}}`
}
