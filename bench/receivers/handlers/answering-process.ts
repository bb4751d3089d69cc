// A handler that does nothing: it reads the call and answers that it is done, or not at all if it is called at /slow.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const server = createServer(async (request, response) => {
  const { events } = JSON.parse(await text(request)) as { events?: unknown[] }
  if (request.url === '/slow') return
  response.end(JSON.stringify(events === undefined ? {} : { results: events.map(() => ({ done: true })) }))
})
server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.on('disconnect', () => process.exit(0))
