import { afterAll } from 'vitest'
import { type ReplicaSetOptions, type ReplicaSetUnderTest, startReplicaSet } from './mongod-under-test.ts'

/** Returns a function that starts a replica set of three when first called. The set ends after the file's last test. */
export function shareReplicaSet(options: ReplicaSetOptions = {}): () => Promise<ReplicaSetUnderTest> {
  const resources = new AsyncDisposableStack()
  afterAll(() => resources.disposeAsync())
  let shared: Promise<ReplicaSetUnderTest> | undefined
  return () => {
    shared ??= startReplicaSet(3, options).then((set) => resources.use(set))
    return shared
  }
}
