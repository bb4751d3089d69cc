import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// No `include` at the root: projects would add to it. Groups run one after the other: what kills processes or takes all of
// the machine disturbs no other group, and a contract is written before its provider is verified against it. Group 0 has a
// meaning of its own.
// Systems of several processes wait most of the time: for starts, leases, time-outs and elections.
const TWO_SYSTEMS_AT_ONCE = { maxWorkers: 2 }
// To load the sources again for each file took a quarter of the time. A file that replaces modules resets them at its end.
const LOADED_ONCE = { isolate: false }
// Random input is the same in each run.
const SEEDED = { setupFiles: ['test/support/seed-random-input.ts'] }
// Two files that write parts of one contract must not do so at the same time.
const CONTRACTS = { ...LOADED_ONCE, maxWorkers: process.env.UPDATE_CONTRACTS === '1' ? 1 : 2 }

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          ...LOADED_ONCE,
          ...SEEDED,
          // Many wait, for MongoDB, time-outs and processes: more than cores.
          maxWorkers: Math.max(5, availableParallelism()),
          include: ['packages/*/src/**/*.test.ts', '{scripts,contracts,bench}/**/*.test.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'contract-consumer',
          include: ['test/contract/**/*.consumer.test.ts'],
          ...CONTRACTS,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'contract-provider',
          include: ['test/contract/**/*.provider.test.ts'],
          ...CONTRACTS,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          name: 'http',
          include: ['test/http/**/*.test.ts'],
          ...LOADED_ONCE,
          ...SEEDED,
          ...TWO_SYSTEMS_AT_ONCE,
          sequence: { groupOrder: 5 },
        },
      },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/*.test.ts', 'test/system/**/*.test.ts'],
          ...LOADED_ONCE,
          ...TWO_SYSTEMS_AT_ONCE,
          sequence: { groupOrder: 6 },
        },
      },
      {
        extends: true,
        test: {
          name: 'console',
          globalSetup: ['test/support/console/browser-setup.ts'],
          include: ['test/console/**/*.test.ts'],
          ...LOADED_ONCE,
          ...TWO_SYSTEMS_AT_ONCE,
          sequence: { groupOrder: 7 },
        },
      },
      {
        extends: true,
        test: {
          name: 'fault',
          // As in production: what a write waits for, and what can be lost, depends on the other nodes.
          globalSetup: ['test/support/mongod/three-nodes-setup.ts'],
          include: ['test/fault/**/*.fault.test.ts'],
          ...TWO_SYSTEMS_AT_ONCE,
          sequence: { groupOrder: 8 },
        },
      },
      {
        extends: true,
        test: {
          name: 'model',
          include: ['test/model/**/*.test.ts'],
          // One at a time: a search takes all of the machine.
          fileParallelism: false,
          sequence: { groupOrder: 9 },
        },
      },
      {
        extends: true,
        test: {
          name: 'container',
          globalSetup: ['test/support/containers/pull-images-setup.ts'],
          include: ['test/container/**/*.test.ts'],
          ...TWO_SYSTEMS_AT_ONCE,
          sequence: { groupOrder: 10 },
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.ts'],
      exclude: ['**/*.test.ts', '**/testing/**', '**/main.ts', 'packages/console/**'],
      reporter: ['text-summary'],
    },
    pool: 'forks',
    // These only end what hangs. On a busy machine everything takes many times longer, and no test may fail for that.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    globalSetup: ['test/support/mongod/mongod-setup.ts'],
    env: {
      ...{ PACT_DO_NOT_TRACK: 'true', TESTCONTAINERS_RYUK_DISABLED: 'true' },
      // With these, Pact's verifier would also verify what a broker has.
      ...{ PACT_BROKER_BASE_URL: '', PACT_BROKER_TOKEN: '', PACT_BROKER_USERNAME: '', PACT_BROKER_PASSWORD: '' },
    },
  },
})
