// bootstrap.mjs loads this file into npm. npm skips optional packages whose "engines" exclude the Node.js that runs
// npm. But Node.js 24 runs what npm installs here. If an older Node.js ran npm, the native parts of the test runner
// would be missing.
Object.defineProperty(process, 'version', { value: 'v24.21.0' })
