// Loaded into npm by bootstrap.mjs. npm leaves out optional packages whose "engines" exclude the Node.js that runs npm; but
// what it installs here is run by Node.js 24, and on an older one the native parts of the test runner would be missing.
Object.defineProperty(process, 'version', { value: 'v24.21.0' })
