import { describe, expect, it } from 'vitest'
import { chooseWorkers, countAvailableCores } from './worker-count.ts'

describe('the number of workers', () => {
  it('is the one that was set, however many cores there are', () => {
    const available = { cores: 2, limitedBy: 'cores' } as const
    expect(chooseWorkers(3, available)).toEqual({ workers: 3, because: 'setting', cores: 2 })
  })

  it.each(['cores', 'cpu-limit'] as const)('is one per core with auto, limited by %s', (limitedBy) => {
    expect(chooseWorkers('auto', { cores: 6, limitedBy })).toEqual({ workers: 6, because: limitedBy, cores: 6 })
  })

  it('is at most 64', () => {
    expect(chooseWorkers('auto', { cores: 128, limitedBy: 'cores' })).toMatchObject({ workers: 64, cores: 128 })
  })
})

function count(parallelism: number, files: Readonly<Record<string, string>> = {}) {
  return countAvailableCores({ parallelism, readFile: (path) => files[path] ?? null })
}

const V2 = { '/proc/self/cgroup': '0::/kubepods/pod1/gateway\n' }
const V1 = { '/proc/self/cgroup': '5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/\n' }

describe('the cores that a process may use', () => {
  it('are those of its affinity without a limit', () => {
    expect(count(4)).toEqual({ cores: 4, limitedBy: 'cores' })
    expect(count(0)).toEqual({ cores: 1, limitedBy: 'cores' })
    expect(count(4, { '/sys/fs/cgroup/cpu.max': 'max 100000\n' })).toEqual({ cores: 4, limitedBy: 'cores' })
    expect(count(4, { ...V1, '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n' })).toEqual({ cores: 4, limitedBy: 'cores' })
  })

  it.each([
    ['200000 100000\n', 2],
    ['250000 100000\n', 2],
    ['50000 100000\n', 1],
    ['30000 10000\n', 3],
  ])('are at most the whole cores of the CPU limit %j', (limit, cores) => {
    expect(count(8, { '/sys/fs/cgroup/cpu.max': limit })).toEqual({ cores, limitedBy: 'cpu-limit' })
  })

  it('are no more than the affinity allows, whatever the limit', () => {
    expect(count(2, { '/sys/fs/cgroup/cpu.max': '800000 100000\n' })).toEqual({ cores: 2, limitedBy: 'cores' })
  })

  it('follow the limit of each group above the process', () => {
    const folder = '/sys/fs/cgroup/kubepods'
    expect(count(8, { ...V2, [`${folder}/pod1/gateway/cpu.max`]: '400000 100000' }).cores).toBe(4)
    expect(count(8, { ...V2, [`${folder}/pod1/cpu.max`]: '300000 100000' }).cores).toBe(3)
    expect(
      count(8, { ...V2, [`${folder}/pod1/cpu.max`]: '600000 100000', [`${folder}/cpu.max`]: '500000 100000' }).cores,
    ).toBe(5)
  })

  it.each(['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/cpu,cpuacct', '/sys/fs/cgroup/cpu,cpuacct/docker/abc'])(
    'follow the limit of a cgroup of version 1 in %s',
    (folder) => {
      const files = { ...V1, [`${folder}/cpu.cfs_quota_us`]: '300000\n', [`${folder}/cpu.cfs_period_us`]: '100000\n' }
      expect(count(8, files)).toEqual({ cores: 3, limitedBy: 'cpu-limit' })
    },
  )

  it('are those of the affinity if a limit cannot be understood', () => {
    for (const text of ['', 'x y', '0 0', '100000']) {
      expect(count(2, { '/sys/fs/cgroup/cpu.max': text })).toEqual({ cores: 2, limitedBy: 'cores' })
    }
  })
})
