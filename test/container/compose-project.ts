import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestContext } from 'vitest'
import { stablePort } from '../../scripts/ports/stable-port.ts'
import { requireTool } from '../../scripts/tools/find-tool.ts'
import { containerImage, TEST_LABEL } from '../support/containers/container-images.ts'
import { runDocker, runProgram } from '../support/containers/run-docker.ts'
import { type SecureServer, sendSecure } from '../support/http/raw-request.ts'
import { until } from '../support/until.ts'

const FOLDER = resolve(import.meta.dirname, '../../docker')

/** What is special about a project. */
export interface ComposeOptions {
  /** Further compose files of the folder `docker`, in addition to `compose.yaml`. */
  readonly overrides?: readonly string[]
  /** Replaces `docker/own`: path -> content. */
  readonly own?: Readonly<Record<string, string>>
}

/** The compose file, started under a unique name. Disposing of it removes containers, networks and volumes. */
export class ComposeProject implements AsyncDisposable {
  readonly name: string
  /** The address of the proxy: `http://host:port`. */
  readonly clearUrl: string
  readonly #url: string
  readonly #command: readonly string[]
  readonly #env: Readonly<Record<string, string>>
  readonly #folder: string

  private constructor(parts: { name: string; command: string[]; folder: string; env: Record<string, string> }) {
    this.name = parts.name
    this.#command = parts.command
    this.#env = parts.env
    this.#folder = parts.folder
    this.#url = parts.env.PUBLIC_URL ?? ''
    this.clearUrl = `http://${parts.env.HTTP_LISTEN}`
  }

  /** Prepares a project that is not up yet; the test is skipped without compose or images. */
  static async prepare(
    context: TestContext,
    { overrides = [], own = {} }: ComposeOptions = {},
  ): Promise<ComposeProject> {
    const images = {
      MONGO_IMAGE: await containerImage('mongo', context),
      PROXY_IMAGE: await containerImage('nginx', context),
      GATEWAY_IMAGE: await containerImage('gateway', context),
      FULFILMENT_IMAGE: await containerImage('fulfilment', context),
      SIMULATOR_IMAGE: await containerImage('simulator', context),
      SETUP_IMAGE: await containerImage('setup', context),
    }
    const program = await findCompose(context)
    const [https, http] = [await stablePort(), await stablePort()]
    const name = `oncehooktest${randomBytes(5).toString('hex')}`
    const folder = await mkdtemp(join(tmpdir(), 'oncehook-compose-'))
    const env = {
      ...images,
      COMPOSE_PROJECT_NAME: name,
      OWN_FOLDER: join(folder, 'own'),
      PUBLIC_URL: `https://localhost:${https}`,
      HTTPS_LISTEN: `127.0.0.1:${https}`,
      HTTP_LISTEN: `127.0.0.1:${http}`,
    }
    const files = ['compose.yaml', ...overrides].flatMap((file) => ['--file', join(FOLDER, file)])
    const project = new ComposeProject({ name, folder, env, command: [...program, ...files] })
    await project.#writeOwn(own)
    await project.#label()
    return project
  }

  /** Starts everything; the proxy answers when this resolves. */
  async up(): Promise<void> {
    await this.compose('up', '--detach', '--no-build')
    const server = await this.server()
    const health = () => sendSecure(server, { method: 'GET', path: '/healthz' }).catch(() => undefined)
    await until(health, (answer) => answer?.status === 200) // a published port takes connections before the proxy does
  }

  /** Stops and removes containers and networks; the data stays. */
  async down(): Promise<void> {
    await this.compose('down', '--timeout', '20')
  }

  /** Runs a command of compose on this project and answers what it prints. */
  async compose(...args: readonly string[]): Promise<string> {
    const labels = ['--file', join(this.#folder, 'labels.json')]
    return (await runProgram([...this.#command, ...labels, ...args], this.#env)).stdout.trimEnd()
  }

  /** The ids of the containers that run for a service. */
  async containers(service: string): Promise<string[]> {
    const filters = [`label=com.docker.compose.project=${this.name}`, `label=com.docker.compose.service=${service}`]
    return lines(await runDocker('ps', '--quiet', ...filters.flatMap((filter) => ['--filter', filter])))
  }

  /** Returns a file of a container, such as a secret that was made for it. */
  async read(service: string, path: string): Promise<string> {
    const [container = ''] = await this.containers(service)
    return runDocker('exec', container, 'node', '-p', `require('fs').readFileSync('${path}', 'utf8')`)
  }

  /** The proxy, with the certificate that it has now. */
  async server(): Promise<SecureServer> {
    const [proxy = ''] = await this.containers('proxy')
    return { url: this.#url, certificate: await runDocker('exec', proxy, 'cat', '/run/proxy/certificate.pem') }
  }

  /** Everything of this project that the engine still has: containers, networks and volumes. */
  async remains(): Promise<string[]> {
    const filter = ['--quiet', '--filter', `label=com.docker.compose.project=${this.name}`]
    const found = [
      await runDocker('ps', '--all', ...filter),
      await runDocker('network', 'ls', ...filter),
      await runDocker('volume', 'ls', ...filter),
    ]
    return found.flatMap(lines)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.compose('down', '--volumes', '--remove-orphans', '--timeout', '20')
    await rm(this.#folder, { recursive: true })
    const remains = await this.remains()
    if (remains.length > 0) throw new Error(`Left behind: ${remains.join(', ')}`)
  }

  async #writeOwn(own: Readonly<Record<string, string>>): Promise<void> {
    await mkdir(join(this.#folder, 'own', 'providers'), { recursive: true })
    for (const [path, content] of Object.entries(own)) await writeFile(join(this.#folder, 'own', path), content)
  }

  /** Adds labels, so that the remains of a killed run are found, and frequent looks at the health. */
  async #label(): Promise<void> {
    const services = [
      ...['certificate', 'setup', 'mongo1', 'mongo2', 'mongo3', 'database', 'fulfilment', 'gateway', 'proxy'],
      ...['simulator'],
    ]
    const label = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, { labels: TEST_LABEL }]))
    const networks = ['edge', 'outside', 'front', 'services', 'database']
    const secrets = ['setup', 'gateway', 'fulfilment', 'mongo', 'database', 'proxy', 'simulator'].map(
      (name) => `${name}-secrets`,
    )
    // Nobody waits here for a look at the health that comes every five or ten seconds.
    const mongo = { labels: TEST_LABEL, healthcheck: { interval: '1s', retries: 60 } }
    const gateway = { labels: TEST_LABEL, healthcheck: { interval: '2s' } }
    const labelled = {
      services: { ...label(services), mongo1: mongo, mongo2: mongo, mongo3: mongo, gateway },
      networks: label(networks),
      volumes: label(['mongo1', 'mongo2', 'mongo3', ...secrets]),
    }
    await writeFile(join(this.#folder, 'labels.json'), JSON.stringify(labelled))
  }
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}

/** Compose 2, as a part of `docker`, or Debian's separate program. */
async function findCompose(context: TestContext): Promise<string[]> {
  return (await requireTool('compose', context)).split(' ')
}
