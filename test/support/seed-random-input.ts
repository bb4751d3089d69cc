import fc from 'fast-check'

// Each run gets the same input: it must not fail at one that no change has made.
fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 1) })
