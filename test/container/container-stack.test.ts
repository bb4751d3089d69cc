import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { getContainerRuntimeClient } from 'testcontainers'
import { describe, expect, it } from 'vitest'
import { listRemains } from '../support/containers/container-network.ts'
import { containerImages, RECEIPTS_PREFIX, startContainerStack } from '../support/containers/container-stack.ts'
import { addMixedLoad, createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { closingCheck, NO_FAULT } from '../support/stack/closing-check.ts'

const ONE_OF_EACH = { gateways: 1, fulfilments: 1, mongoNodes: 1 } as const

async function receiptFolders(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => name.startsWith(RECEIPTS_PREFIX))
}

/** The volumes of the containers that this file runs now; they have no label. */
async function volumesInUse(): Promise<string[]> {
  return (await listRemains()).filter((name) => name.startsWith('volume '))
}

async function volumesOfEngine(): Promise<string[]> {
  const { Volumes } = await (await getContainerRuntimeClient()).container.dockerode.listVolumes()
  return (Volumes ?? []).map(({ Name }) => `volume ${Name}`)
}

describe('the built images', () => {
  it('take payments on a read-only root without capabilities and with 256 MiB, and leave nothing behind', async (context) => {
    const images = await containerImages(context)
    const foldersBefore = await receiptFolders()
    let volumes: string[]
    {
      await using stack = await startContainerStack({ images, ...ONE_OF_EACH })
      await using source = new WebhookSource(stack.provider(), { perSecond: 200, parallel: 50 })
      addMixedLoad(source, await createOrders(stack, 40))
      await source.run()
      await stack.untilSettled()
      expect(await closingCheck(stack, source.log, { struck: NO_FAULT, volume: 160, receiptsOnce: true })).toEqual([])
      const roots = await Promise.all(
        [...stack.gateways, ...stack.fulfilments].map(({ container }) => container.limits()),
      )
      expect(roots).toEqual(Array(2).fill({ readOnly: true, memoryMiB: 256, capabilities: 'none' }))
      volumes = await volumesInUse()
      expect(await listRemains(), 'while it runs').toHaveLength(6 + volumes.length)
    }
    expect(await listRemains()).toEqual([])
    expect((await volumesOfEngine()).filter((volume) => volumes.includes(volume))).toEqual([])
    expect((await receiptFolders()).filter((folder) => !foldersBefore.includes(folder))).toEqual([])
  })

  it('that fail to start leave nothing behind either', async (context) => {
    const images = await containerImages(context)
    const start = startContainerStack({ images, ...ONE_OF_EACH, gateway: { SERVICE_TOKEN_SECRET: 'changeme' } })
    await expect(start).rejects.toThrow(
      'gateway1 did not start: oncehook: SERVICE_TOKEN_SECRET is a sample placeholder',
    )
    expect(await listRemains()).toEqual([])
  })
})
