import { GenericContainer } from 'testcontainers'

/** What a service of ours gets by with. */
const MEMORY_BYTES = 256 * 1024 ** 2

/** A container whose ports are published on loopback only: no test listens to the network of its machine. */
export class LoopbackContainer extends GenericContainer {
  /** As in production: nothing can be written but what is mounted, no capability, 256 MiB and no swap. */
  withHardening(): this {
    this.hostConfig.ReadonlyRootfs = true
    this.hostConfig.Memory = MEMORY_BYTES
    this.hostConfig.MemorySwap = MEMORY_BYTES
    return this.withDroppedCapabilities('ALL').withSecurityOpt('no-new-privileges')
  }

  protected override async beforeContainerCreated(): Promise<void> {
    const bindings = (this.hostConfig.PortBindings ?? {}) as Record<string, { HostPort: string }[]>
    this.hostConfig.PortBindings = Object.fromEntries(
      Object.entries(bindings).map(([port, ends]) => [port, ends.map((end) => ({ ...end, HostIp: '127.0.0.1' }))]),
    )
  }
}
