import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Db } from 'mongodb'
import { describeSystem, type SystemRun } from '../../receivers/oncehook/describe-system.ts'
import { startService } from '../../receivers/oncehook/service.ts'
import type { Setup } from '../../receivers/receiver.ts'

/** How many processes of each service share one database server. */
export interface FleetSize {
  readonly run: string
  readonly gateways: number
  readonly fulfilments: number
}

/** One process of a service. */
export interface Member {
  readonly pid: number
  readonly metricsUrl: string
}

/** Gateways and fulfilments that share their databases. */
export interface Fleet extends AsyncDisposable {
  /** Where each gateway takes deliveries. */
  readonly urls: readonly string[]
  readonly gateways: readonly Member[]
  readonly fulfilments: readonly Member[]
  readonly gatewayDb: Db
  readonly fulfilmentDb: Db
}

/** Starts the processes. Gateway n calls fulfilment n modulo their number, as behind a load balancer. */
export async function startFleet(setup: Setup, { run, gateways, fulfilments }: FleetSize): Promise<Fleet> {
  await using stack = new AsyncDisposableStack()
  const systems = await Promise.all(Array.from({ length: gateways }, () => describeSystem(setup, run)))
  const [first] = systems
  if (first === undefined) throw new Error('A fleet needs a gateway')
  const dbs = { gatewayDb: setup.database(first.gatewayDb), fulfilmentDb: setup.database(first.fulfilmentDb) }
  stack.defer(async () => void (await Promise.all([dbs.gatewayDb.dropDatabase(), dbs.fulfilmentDb.dropDatabase()])))
  const { serviceSecret } = first
  const called = systems.slice(0, fulfilments)
  const start = async (name: 'gateway' | 'fulfilment', index: number, { system, env }: Started): Promise<Member> => {
    const logFolder = join(setup.folder, `${name}-${index}`)
    mkdirSync(logFolder, { recursive: true })
    const { pid } = stack.use(await startService({ ...system[name], env: { ...system[name].env, ...env }, logFolder }))
    const port = system[name].env[name === 'gateway' ? 'ADMIN_PORT' : 'FULFILMENT_PORT']
    return { pid, metricsUrl: `http://127.0.0.1:${port}/metrics` }
  }
  const shared = { SERVICE_TOKEN_SECRET: serviceSecret }
  const startAll = (name: 'gateway' | 'fulfilment', started: readonly Started[]): Promise<Member[]> =>
    Promise.all(started.map((one, index) => start(name, index, one)))
  const fulfilmentMembers = await startAll(
    'fulfilment',
    called.map((system) => ({ system, env: shared })),
  )
  const gatewayMembers = await startAll(
    'gateway',
    systems.map((system, index) => {
      const { fulfilmentUrl = '' } = called[index % called.length] ?? {}
      return { system, env: { ...shared, FULFILMENT_URL: fulfilmentUrl } }
    }),
  )
  const running = stack.move()
  return {
    ...dbs,
    urls: systems.map(({ url }) => url),
    gateways: gatewayMembers,
    fulfilments: fulfilmentMembers,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

interface Started {
  readonly system: SystemRun
  readonly env: Readonly<Record<string, string>>
}
