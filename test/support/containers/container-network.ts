import { randomBytes } from 'node:crypto'
import { getContainerRuntimeClient } from 'testcontainers'
import { TEST_LABEL } from './container-images.ts'

/** A network of one test. */
export interface ContainerNetwork extends AsyncDisposable {
  readonly name: string
}

/** Makes a network. Disposing of it removes it. */
export async function createContainerNetwork(): Promise<ContainerNetwork> {
  const { dockerode } = (await getContainerRuntimeClient()).container
  const name = `oncehook-test-${randomBytes(6).toString('hex')}`
  const network = await dockerode.createNetwork({ Name: name, Labels: TEST_LABEL, CheckDuplicate: true })
  return { name, [Symbol.asyncDispose]: async () => void (await network.remove()) }
}
