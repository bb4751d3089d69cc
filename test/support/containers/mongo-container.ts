import { type StartedTestContainer, Wait } from 'testcontainers'
import { REPLICA_SET, SMALL_SERVER } from '../../../scripts/mongod/mongod-arguments.ts'
import { becomePrimary } from '../../../scripts/mongod/replica-set-of-one.ts'
import { stablePort } from '../../../scripts/ports/stable-port.ts'
import { TEST_LABEL } from './container-images.ts'
import { LoopbackContainer } from './loopback-container.ts'

/** A MongoDB in a container, removed with its data when it is disposed of. */
export interface MongoContainer extends AsyncDisposable {
  /** Connection string for this machine; it stays the same when the container is stopped and started again. */
  readonly uri: string
  /** For a test that pauses or kills the server. */
  readonly container: StartedTestContainer
}

const MONGO_PORT = 27_017

/** Starts a replica set of one in a container of the image, official or local alike. Ready when it is primary. */
export async function startMongoContainer(image: string): Promise<MongoContainer> {
  const port = await stablePort() // a mapped port changes when a container is started again: choose a fixed one
  const container = await new LoopbackContainer(image)
    .withLabels(TEST_LABEL)
    .withCommand(['--replSet', REPLICA_SET, ...SMALL_SERVER])
    .withExposedPorts({ container: MONGO_PORT, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Waiting for connections/))
    .start()
  try {
    await becomePrimary(`127.0.0.1:${port}`, `localhost:${MONGO_PORT}`)
  } catch (error) {
    await container.stop()
    throw error
  }
  // Only direct connections work from outside, because the member reports its port inside the container.
  const uri = `mongodb://127.0.0.1:${port}/?directConnection=true`
  return { uri, container, [Symbol.asyncDispose]: async () => void (await container.stop()) }
}
