// The health check of the images: `node probe.mjs NAME PORT PATH` asks this container's PATH on the port that the variable NAME_PORT
// holds, else on PORT; by https where NAME_TLS_CERT is set. Exit 0 when the answer is 200, 1 for everything else; Docker bounds the
// time.
import { get } from 'node:http'
import { get as getSecure } from 'node:https'

const [name, port, path] = process.argv.slice(2)
const { env } = process
const ask = env[`${name}_TLS_CERT`] || env[`${name}_TLS_CERT_FILE`] ? getSecure : get
// Whose certificate it is does not matter here: the listener is this container's own.
const options = { host: '127.0.0.1', port: env[`${name}_PORT`] || port, path, agent: false, rejectUnauthorized: false }

ask(options, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1)
}).on('error', () => process.exit(1))
