import { GenericContainer } from 'testcontainers'

/** The memory that is enough for one of our services. */
const MEMORY_BYTES = 256 * 1024 ** 2

/** A container whose ports are published on loopback only: no test listens to the network of its machine. */
export class LoopbackContainer extends GenericContainer {
  /** As in production: only mounts are writable, there are no capabilities, 256 MiB of memory and no swap. */
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
