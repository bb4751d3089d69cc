import fc from 'fast-check'

// A run that meets the first bad input by luck blocks a change that has nothing to do with it.
fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 1) })
