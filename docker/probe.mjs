// The health check of the images: `node probe.mjs NAME PORT PATH` asks this container's PATH on the port that the variable NAME
// holds, else on PORT. Exit 0 when the answer is 200, 1 for everything else; Docker bounds the time.
import { get } from 'node:http'

const [name, port, path] = process.argv.slice(2)

get({ host: '127.0.0.1', port: process.env[name] || port, path, agent: false }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1)
}).on('error', () => process.exit(1))
