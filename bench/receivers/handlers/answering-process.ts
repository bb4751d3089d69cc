// A handler that does nothing: it reads the call and answers 200, or not at all if it is called at /slow.
import { createServer } from 'node:http'

const server = createServer((request, response) => {
  request.resume().once('end', () => {
    if (request.url !== '/slow') response.end()
  })
})
server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.on('disconnect', () => process.exit(0))
