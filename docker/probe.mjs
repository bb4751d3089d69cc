// The health check of the images: `node probe.mjs NAME PORT PATH` requests PATH from this container, on the port in the variable
// NAME_PORT or else on PORT, over https if NAME_TLS_CERT is set. It exits with 0 if the answer is 200, otherwise with 1. Docker limits
// the time.
import { get } from 'node:http'
import { get as getSecure } from 'node:https'

const [name, port, path] = process.argv.slice(2)
const { env } = process
const ask = env[`${name}_TLS_CERT`] || env[`${name}_TLS_CERT_FILE`] ? getSecure : get
// No verification is needed: the listener is in this container.
const options = { host: '127.0.0.1', port: env[`${name}_PORT`] || port, path, agent: false, rejectUnauthorized: false }

ask(options, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1)
}).on('error', () => process.exit(1))
