import { randomBytes } from 'node:crypto'
import { getContainerRuntimeClient } from 'testcontainers'
import { TEST_LABEL } from './container-images.ts'

/** A second label on everything that a test file starts. It distinguishes several runs on one machine. */
const OWNER = ['oncehook.owner', `${process.pid}-${randomBytes(4).toString('hex')}`] as const

/** A network of one test, and the labels for what is in it. */
export interface ContainerNetwork extends AsyncDisposable {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

/** Makes a network. Disposing of it removes it. */
export async function createContainerNetwork(): Promise<ContainerNetwork> {
  const { dockerode } = (await getContainerRuntimeClient()).container
  const name = `oncehook-test-${randomBytes(6).toString('hex')}`
  const labels = { ...TEST_LABEL, [OWNER[0]]: OWNER[1] }
  const network = await dockerode.createNetwork({ Name: name, Labels: labels, CheckDuplicate: true })
  return { name, labels, [Symbol.asyncDispose]: async () => void (await network.remove()) }
}

/** The names of everything of this test file that the engine still has: containers with their volumes, and networks. */
export async function listRemains(): Promise<string[]> {
  const { dockerode } = (await getContainerRuntimeClient()).container
  const filters = { label: [OWNER.join('=')] }
  const [containers, networks] = await Promise.all([
    dockerode.listContainers({ all: true, filters }),
    dockerode.listNetworks({ filters }),
  ])
  return [
    ...containers.flatMap(({ Names, Mounts }) => [
      `container ${Names.join(' ')}`,
      ...Mounts.filter(({ Type }) => Type === 'volume').map(({ Name }) => `volume ${Name}`),
    ]),
    ...networks.map(({ Name }) => `network ${Name}`),
  ]
}
